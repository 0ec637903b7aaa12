/* Starts CUDA as programs in containers do: finds the driver's library by its name, and moves bytes through the memory
 * of each GPU. Prints "UUID ok" for each, or the call that failed. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*cuda_call)();

static void* library;

static int call_failed(const char* name, int result) {
  if (result != 0) printf("%s returned %d\n", name, result);
  return result;
}

/* Calls a function of the driver, whose results are all int; 0 is CUDA_SUCCESS. */
#define CALL(name, ...)                                                       \
  do {                                                                        \
    cuda_call function = (cuda_call)dlsym(library, #name);                    \
    if (function == NULL) return printf("the library has no " #name "\n"), 1; \
    if (call_failed(#name, function(__VA_ARGS__))) return 1;                  \
  } while (0)

static int use(int number) {
  int device = 0;
  unsigned char uuid[16];
  void* context = NULL;
  unsigned long long memory = 0;
  char sent[4096], received[sizeof sent];
  CALL(cuDeviceGet, &device, number);
  CALL(cuDeviceGetUuid_v2, uuid, device);
  CALL(cuCtxCreate_v2, &context, 0u, device);
  CALL(cuMemAlloc_v2, &memory, (size_t)1 << 20);
  memset(sent, 'c', sizeof sent);
  CALL(cuMemcpyHtoD_v2, memory, sent, sizeof sent);
  CALL(cuMemcpyDtoH_v2, received, memory, sizeof received);
  CALL(cuMemFree_v2, memory);
  CALL(cuCtxDestroy_v2, context);
  if (memcmp(sent, received, sizeof sent) != 0) return printf("the memory has other bytes\n"), 1;
  for (int i = 0; i < 16; ++i) printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
  printf(" ok\n");
  return 0;
}

int main(void) {
  int count = 0;
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) return printf("%s\n", dlerror()), 1;
  CALL(cuInit, 0u);
  CALL(cuDeviceGetCount, &count);
  for (int i = 0; i < count; ++i)
    if (use(i) != 0) return 1;
  return 0;
}
