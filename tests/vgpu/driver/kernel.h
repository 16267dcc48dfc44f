// SPDX-License-Identifier: Apache-2.0
// Loaded code. A Module belongs to a context and holds Functions; a Library belongs to none, holds
// Kernels and has a Module in every context that ever asked for a function of it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vgpu/driver/api.h"
#include "vgpu/driver/handles.h"
#include "vgpu/driver/image.h"

namespace bwgemm::vgpu::driver {

struct Context;

struct FunctionAttributes {
  int max_dynamic_shared = limits::shared_per_block;
  int carveout = -1;
  bool allows_large_clusters = false;
};

struct Function {
  CUfunction handle() const { return reinterpret_cast<CUfunction>(const_cast<Function*>(this)); }
  int registers() const;  // as ptxas allocated them, where the build says; else a guess

  Context* context;
  std::shared_ptr<const Image> image;
  const Signature* signature;
  const vgpu::KernelInfo* info;
  FunctionAttributes attributes;
};

// Fails with INVALID_VALUE for what does not exist or cannot be set.
int get_attribute(const Function& function, CUfunction_attribute attribute);
void set_attribute(Function& function, CUfunction_attribute attribute, int value);

struct Module {
  Module(Context& of, std::shared_ptr<const Image> from);

  Function& function(std::string_view name) const;  // fails with NOT_FOUND

  Context* context;
  std::shared_ptr<const Image> image;
  std::vector<std::unique_ptr<Function>> functions;
};

struct Library;

struct Kernel {
  CUkernel handle() const { return reinterpret_cast<CUkernel>(const_cast<Kernel*>(this)); }

  Library* library;
  std::string name;
};

struct Library {
  explicit Library(std::shared_ptr<const Image> from);

  Kernel& kernel(std::string_view name) const;  // fails with NOT_FOUND
  Module& module(Context& context);
  void forget(const Context& context) { modules.erase(const_cast<Context*>(&context)); }

  std::shared_ptr<const Image> image;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::map<Context*, std::unique_ptr<Module>> modules;
};

using Modules = Handles<Module, CUmodule>;
using Libraries = Handles<Library, CUlibrary>;

// Both fail with INVALID_HANDLE. A kernel's handle serves as a function's, in the current context.
Function& function_of(CUfunction handle);
Kernel& kernel_of(CUkernel handle);

}  // namespace bwgemm::vgpu::driver
