// HMAC-SHA-256 and comparison in constant time, for the page's handshake.
#include <sodium/crypto_auth_hmacsha256.h>
#include <sodium/utils.h>
