/* SPDX-License-Identifier: Apache-2.0
 * A program without cuBLAS. It opens the libraries that its arguments name so that they do not see
 * each other, and uses the last one, which is a plugin with cuBLAS (plugin.c), for a call that must
 * reach cuBLAS and one that bwgemm can serve. It prints cuBLAS's status of each call, how many
 * products reached the plugin's cuBLAS, and whether the plugin is still loaded after its end. */
#include <dlfcn.h>
#include <stdio.h>

#include "dropin/cublas_abi.h"

typedef cublasStatus_t (*Create)(cublasHandle_t* handle);
typedef cublasStatus_t (*Multiply)(cublasHandle_t handle, int algo);
typedef int64_t (*Products)(void);

int main(int count, char** arguments) {
  void* plugin = NULL;
  for (int at = 1; at < count; ++at) {
    plugin = dlopen(arguments[at], RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
  }
  const Create create = (Create)dlsym(plugin, "plugin_create");
  const Multiply multiply = (Multiply)dlsym(plugin, "plugin_multiply");
  const Products products = (Products)dlsym(plugin, "plugin_products");
  cublasHandle_t handle = NULL;
  const cublasStatus_t created = create(&handle);
  const cublasStatus_t forwarded = multiply(handle, 3);
  const cublasStatus_t served = multiply(handle, CUBLAS_GEMM_DEFAULT);
  printf("%d %d %d, %d products", (int)created, (int)forwarded, (int)served, (int)products());
  dlclose(plugin);
  const int stays = dlopen(arguments[count - 1], RTLD_NOW | RTLD_NOLOAD) != NULL;
  printf(", %s\n", stays ? "loaded" : "gone");
  return 0;
}
