// HMAC-SHA-256 and constant-time comparison, for the page's handshake.
#include <sodium/crypto_auth_hmacsha256.h>
#include <sodium/utils.h>
