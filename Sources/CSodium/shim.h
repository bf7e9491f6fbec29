// HMAC-SHA-256 and constant-time comparison, for the page's handshake; SHA-256, for the names of photos.
#include <sodium/crypto_auth_hmacsha256.h>
#include <sodium/crypto_hash_sha256.h>
#include <sodium/utils.h>
