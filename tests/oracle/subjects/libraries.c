// Libraries with assembly and with large functions: libcrypto, zlib, sqlite3.

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "skip.h"

static unsigned char bytes[4096];
static unsigned char more[8192];

// With few instructions: they are stepped through, too.
static void fill_bytes(void) {
  size_t size = 64;
  for (size_t i = 0; i < size; ++i) bytes[i] = (unsigned char)(i * i / 7);
  for (; size < sizeof(bytes); size *= 2) memcpy(bytes + size, bytes, size);
}

static void hash(const EVP_MD* algorithm) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  if (!EVP_Digest(bytes, 512, digest, NULL, algorithm, NULL)) abort();
}

static void encrypt(const EVP_CIPHER* cipher) {
  static const unsigned char key[64] = "a key", iv[16] = "an iv";
  int size = 0;
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  EVP_EncryptInit_ex(context, cipher, NULL, key, iv);
  EVP_EncryptUpdate(context, more, &size, bytes, 1024);
  EVP_EncryptFinal_ex(context, more + size, &size);
  EVP_CIPHER_CTX_free(context);
}

static void calculate(void) {
  BN_CTX* context = BN_CTX_new();
  BIGNUM *base = NULL, *exponent = NULL, *modulus = NULL;
  BIGNUM* result = BN_new();
  bytes[255] |= 1;  // odd
  modulus = BN_bin2bn(bytes, 256, NULL);
  base = BN_bin2bn(bytes + 100, 200, NULL);
  BN_dec2bn(&exponent, "17");
  BN_mod_exp(result, base, exponent, modulus, context);
  BN_mul(result, base, modulus, context);
  BN_div(NULL, result, modulus, base, context);
  BN_free(result);
  BN_free(base);
  BN_free(exponent);
  BN_free(modulus);
  BN_CTX_free(context);
}

static void compress_and_back(void) {
  uLongf size = sizeof(more);
  if (compress2(more, &size, bytes, 2048, 6) != Z_OK) abort();
  uLongf back = sizeof(bytes);
  if (uncompress(bytes, &back, more, size) != Z_OK) abort();
}

static int on_row(void* count, int columns, char** values, char** names) {
  *(int*)count += columns + (values[0] != NULL) + (names[0] != NULL);
  return 0;
}

static void query(void) {
  sqlite3* database = NULL;
  int count = 0;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK) abort();
  sqlite3_exec(database,
               "create table t(a integer primary key, b text);"
               "insert into t(b) values ('x'), ('y'), ('z');"
               "create index i on t(b);"
               "select count(*), group_concat(b), sum(a) from t where b > 'x'"
               " order by length(b), b desc;",
               on_row, &count, NULL);
  sqlite3_close(database);
  if (count == 0) abort();
}

static void run_crypto(void) {
  calculate();
  hash(EVP_sha256());
  hash(EVP_sha512());
  hash(EVP_sha3_256());
  hash(EVP_sha1());
  hash(EVP_md5());
  encrypt(EVP_aes_128_cbc());
  encrypt(EVP_aes_256_gcm());
  encrypt(EVP_aes_256_ctr());
  encrypt(EVP_chacha20_poly1305());
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  fill_bytes();
  if (strcmp(what, "crypto") == 0) {
    skip();  // algorithms are looked for: millions of instructions
    run_crypto();
    skip();
    run_crypto();
  } else if (strcmp(what, "zlib") == 0) {
    compress_and_back();
  } else if (strcmp(what, "sqlite3") == 0) {
    query();
  } else {
    return 2;
  }
  return 0;
}
