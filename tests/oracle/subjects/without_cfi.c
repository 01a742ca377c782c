// Libraries whose assembly has no CFI: libnettle, libgmp.

#include <gmp.h>
#include <nettle/aes.h>
#include <nettle/camellia.h>
#include <nettle/chacha-poly1305.h>
#include <nettle/ecc-curve.h>
#include <nettle/ecdsa.h>
#include <nettle/gcm.h>
#include <nettle/knuth-lfib.h>
#include <nettle/md5.h>
#include <nettle/memxor.h>
#include <nettle/nettle-meta.h>
#include <nettle/salsa20.h>
#include <nettle/sha2.h>
#include <nettle/umac.h>
#include <stdlib.h>
#include <string.h>

static uint8_t bytes[1024], more[1024];
static const uint8_t key[32] = "a key", nonce[32] = "a nonce";

static void hash(const struct nettle_hash* algorithm) {
  uint8_t digest[SHA512_DIGEST_SIZE];
  void* state = malloc(algorithm->context_size);
  if (state == NULL) abort();
  algorithm->init(state);
  algorithm->update(state, sizeof(bytes), bytes);
  algorithm->digest(state, algorithm->digest_size, digest);
  free(state);
}

static void encrypt(void) {
  struct aes256_ctx aes;
  aes256_set_encrypt_key(&aes, key);
  aes256_encrypt(&aes, sizeof(bytes), more, bytes);
  struct gcm_aes128_ctx gcm;
  gcm_aes128_set_key(&gcm, key);
  gcm_aes128_set_iv(&gcm, GCM_IV_SIZE, nonce);
  gcm_aes128_encrypt(&gcm, sizeof(bytes), more, bytes);
  gcm_aes128_digest(&gcm, GCM_DIGEST_SIZE, more);
  struct camellia256_ctx camellia;
  camellia256_set_encrypt_key(&camellia, key);
  camellia256_crypt(&camellia, sizeof(bytes), more, bytes);
  struct chacha_poly1305_ctx chacha;
  chacha_poly1305_set_key(&chacha, key);
  chacha_poly1305_set_nonce(&chacha, nonce);
  chacha_poly1305_encrypt(&chacha, sizeof(bytes), more, bytes);
  chacha_poly1305_digest(&chacha, CHACHA_POLY1305_DIGEST_SIZE, more);
  struct salsa20_ctx salsa;
  salsa20_256_set_key(&salsa, key);
  salsa20_set_nonce(&salsa, nonce);
  salsa20_crypt(&salsa, sizeof(bytes), more, bytes);
  struct umac128_ctx umac;
  umac128_set_key(&umac, key);
  umac128_update(&umac, sizeof(bytes), bytes);
  umac128_digest(&umac, 16, more);
  memxor(more + 3, bytes, 512);
  memxor3(more, bytes + 1, bytes + 6, 512);
}

static void sign(const struct ecc_curve* curve) {
  struct knuth_lfib_ctx random;
  knuth_lfib_init(&random, 4711);
  struct ecc_scalar secret;
  struct dsa_signature signature;
  ecc_scalar_init(&secret, curve);
  dsa_signature_init(&signature);
  mpz_t number;
  mpz_init_set_ui(number, 4711);
  if (!ecc_scalar_set(&secret, number)) abort();
  ecdsa_sign(&secret, &random, (nettle_random_func*)knuth_lfib_random,
             sizeof(nonce), nonce, &signature);
  mpz_clear(number);
  dsa_signature_clear(&signature);
  ecc_scalar_clear(&secret);
}

static void run_nettle(void) {
  hash(&nettle_md5);
  hash(&nettle_sha1);
  hash(&nettle_sha256);
  hash(&nettle_sha512);
  hash(&nettle_sha3_256);
  encrypt();
  sign(nettle_get_secp_192r1());
  sign(nettle_get_secp_256r1());
  sign(nettle_get_secp_384r1());
}

static void run_gmp(void) {
  mpz_t a, b, c;
  mpz_inits(a, b, c, NULL);
  mpz_ui_pow_ui(a, 3, 3000);
  mpz_ui_pow_ui(b, 7, 2000);
  mpz_mul(c, a, b);
  mpz_addmul(c, a, a);
  mpz_tdiv_qr(c, a, c, b);
  mpz_gcd(c, a, b);
  mpz_ui_pow_ui(b, 5, 200);
  mpz_powm_ui(c, a, 65537, b);
  mpz_sqrt(a, a);
  mpz_xor(a, a, b);
  mpz_mul_2exp(a, a, 77);
  mpz_fdiv_q_2exp(a, a, 13);
  free(mpz_get_str(NULL, 10, a));
  mpz_clears(a, b, c, NULL);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  memset(bytes, 0x5a, sizeof(bytes));
  if (strcmp(what, "nettle") == 0) {
    run_nettle();
  } else if (strcmp(what, "gmp") == 0) {
    run_gmp();
  } else {
    return 2;
  }
  return 0;
}
