# SPDX-License-Identifier: Apache-2.0
"""Arrays in device memory that speak one protocol each, over nothing but ctypes and the driver of
BWGEMM_LIBCUDA; and modules that pass for torch and cupy."""

import contextlib
import ctypes
import os
import struct
import sys
import types

CUDA = ctypes.CDLL(os.environ["BWGEMM_LIBCUDA"])
SIZE = {"bfloat16": 2, "float16": 2, "float32": 4, "float64": 8}


def cuda(name, *arguments):
    result = getattr(CUDA, name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name}: {result}")


class current:
    """with current(device): its primary context is current."""

    def __init__(self, device=0):
        self._context = ctypes.c_void_p()
        cuda("cuInit", 0)
        cuda("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)

    def __enter__(self):
        cuda("cuCtxPushCurrent_v2", self._context)

    def __exit__(self, *_):
        cuda("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))


def encoded(values, dtype):
    if dtype == "bfloat16":
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    return struct.pack({"float16": "<%de", "float32": "<%df", "float64": "<%dd"}[dtype]
                       % len(values), *values)


def decoded(content, dtype):
    if dtype == "bfloat16":
        pairs = (content[i:i + 2] for i in range(0, len(content), 2))
        return [struct.unpack("<f", b"\0\0" + pair)[0] for pair in pairs]
    return list(struct.unpack({"float16": "<%de", "float32": "<%df"}[dtype]
                              % (len(content) // SIZE[dtype]), content))


class Device:
    """An array of numbers: shape, strides in elements, and how to read it back."""

    def __init__(self, shape, values=None, dtype="bfloat16", strides=None, device=0):
        self.shape, self.dtype, self.device_id = tuple(shape), dtype, device
        self.strides = tuple(strides) if strides is not None else self.compact()
        self.count = max(1, 1 + sum((size - 1) * stride for size, stride in zip(shape, self.strides)))
        self.pointer = ctypes.c_uint64()
        with current(device):
            cuda("cuMemAlloc_v2", ctypes.byref(self.pointer), ctypes.c_size_t(self.count * SIZE[dtype]))
            content = [0.0] * self.count
            if values is not None:
                for position, index in self.places():
                    content[position] = values(*index)
            data = encoded(content, dtype)
            cuda("cuMemcpyHtoD_v2", self.pointer, data, ctypes.c_size_t(len(data)))
            cuda("cuCtxSynchronize")

    def compact(self):
        strides = []
        for i in range(len(self.shape)):
            step = 1
            for size in self.shape[i + 1:]:
                step *= size
            strides.append(step)
        return strides

    def places(self):
        def indices(shape):
            if not shape:
                yield ()
                return
            for first in range(shape[0]):
                for rest in indices(shape[1:]):
                    yield (first, *rest)

        for index in indices(self.shape):
            yield sum(i * stride for i, stride in zip(index, self.strides)), index

    def numbers(self):
        """{index: value}, after everything on the device."""
        content = ctypes.create_string_buffer(self.count * SIZE[self.dtype])
        with current(self.device_id):
            cuda("cuCtxSynchronize")
            cuda("cuMemcpyDtoH_v2", content, self.pointer, ctypes.c_size_t(len(content)))
        flat = decoded(content.raw, self.dtype)
        return {index: flat[position] for position, index in self.places()}


class Interface(Device):
    stream, read_only = None, False

    @property
    def __cuda_array_interface__(self):
        typestr = {"bfloat16": "<V2", "float16": "<f2", "float32": "<f4", "float64": "<f8"}[self.dtype]
        size = SIZE[self.dtype]
        return {"shape": self.shape, "typestr": typestr, "data": (self.pointer.value, self.read_only),
                "strides": tuple(size * stride for stride in self.strides), "version": 3,
                "stream": self.stream}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class Dlpack(Device):
    """Of a library that knows DLPack 1.0, whose flags are 1: read-only, 2: a copy."""

    device_type, null_strides, byte_offset, asked_stream = 2, False, 0, None
    dlpack_flags, dlpack_major = 0, 1

    def __dlpack_device__(self):
        return self.device_type, self.device_id

    def tensor(self):
        sizes = (ctypes.c_int64 * len(self.shape))(*self.shape)
        steps = (ctypes.c_int64 * len(self.shape))(*self.strides)
        code = {"bfloat16": 4}.get(self.dtype, 2)
        self.kept = [sizes, steps]
        return _Tensor(
            self.pointer.value - self.byte_offset, self.device_type, self.device_id,
            len(self.shape), code, 8 * SIZE[self.dtype], 1, ctypes.addressof(sizes),
            None if self.null_strides else ctypes.addressof(steps), self.byte_offset)

    def old_capsule(self, stream):
        self.asked_stream = stream
        managed = _Managed(self.tensor())
        self.kept.append(managed)
        return _new_capsule(ctypes.addressof(managed), b"dltensor", None)

    def __dlpack__(self, *, stream=None, max_version=None):
        if max_version is None or max_version < (1, 0):
            return self.old_capsule(stream)
        self.asked_stream = stream
        managed = _Versioned(self.dlpack_major, 0, None, None, self.dlpack_flags, self.tensor())
        self.kept.append(managed)
        return _new_capsule(ctypes.addressof(managed), b"dltensor_versioned", None)


class OldDlpack(Dlpack):
    """Of a library that is older than DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return self.old_capsule(stream)


class Jax(Dlpack):
    """What of jax.Array is used. It never changes, but only its interface says so, and that it does
    not have for bfloat16."""

    def __dlpack__(self, *, stream=None, max_version=None):
        return self.old_capsule(stream)

    @property
    def __cuda_array_interface__(self):
        if self.dtype == "bfloat16":
            raise AttributeError("__cuda_array_interface__ is not supported for bfloat16")
        return {"shape": self.shape, "typestr": {"float16": "<f2", "float32": "<f4"}[self.dtype],
                "data": (self.pointer.value, True), "version": 2}

    @property
    def device(self):
        return self.device_id

    def __array_namespace__(self):
        return types.SimpleNamespace(
            bfloat16="bfloat16", float16="float16", float32="float32",
            empty=lambda shape, dtype, device: Jax(shape, dtype=dtype, device=device))


class _Dtype(str):
    """What of numpy.dtype is used."""

    name = property(str)


class Cupy(Dlpack):
    """What of cupy.ndarray is used."""

    def __init__(self, shape, values=None, dtype="bfloat16", **named):
        super().__init__(shape, values, _Dtype(dtype), **named)

    @property
    def device(self):
        return current(self.device_id)


@contextlib.contextmanager
def installed(module):
    """In sys.modules for the length of a scope."""
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module
    try:
        yield module
    finally:
        del sys.modules[module.__name__]
        if before is not None:
            sys.modules[module.__name__] = before


def cupy():
    """A module that passes for cupy. .allocation: stream and device of the last empty()."""
    module = types.ModuleType("cupy")
    selected = [0]

    @contextlib.contextmanager
    def external(pointer):
        selected.append(pointer)
        yield
        selected.pop()

    def empty(shape, dtype):
        if dtype == "bfloat16" and not isinstance(dtype, _Dtype):
            raise TypeError("data type 'bfloat16' not understood")
        device = ctypes.c_int()
        cuda("cuCtxGetDevice", ctypes.byref(device))
        module.allocation = selected[-1], device.value
        return Cupy(shape, dtype=dtype, device=device.value)

    module.ndarray, module.empty = Cupy, empty
    module.cuda = types.SimpleNamespace(ExternalStream=external)
    return installed(module)


class Tensor(Device):
    """What of torch.Tensor is used."""

    is_cuda, requires_grad, layout = True, False, "strided"

    def data_ptr(self):
        return self.pointer.value

    def stride(self):
        return self.strides

    @property
    def device(self):
        return types.SimpleNamespace(index=self.device_id)

    def __getattribute__(self, name):  # str(torch.bfloat16) is "torch.bfloat16"
        value = object.__getattribute__(self, name)
        if name == "dtype" and sys._getframe(1).f_globals["__name__"].startswith("bwgemm"):
            return f"torch.{value}"
        return value


def torch(current_stream=0, grad=False):
    """A module that passes for torch. .allocation_stream: of the last empty()."""
    module = types.ModuleType("torch")
    selected = [current_stream]

    @contextlib.contextmanager
    def stream(chosen):
        selected.append(chosen.cuda_stream)
        yield
        selected.pop()

    def empty(shape, dtype, device):
        module.allocation_stream = selected[-1]
        return Tensor(shape, dtype=dtype, device=device.index)

    module.Tensor, module.strided, module.empty = Tensor, "strided", empty
    module.bfloat16, module.float16, module.float32 = "bfloat16", "float16", "float32"
    module.is_grad_enabled = lambda: grad
    module.written = []  # what increment_version() was told of
    module.autograd = types.SimpleNamespace(
        graph=types.SimpleNamespace(increment_version=module.written.append))
    module.overrides = types.SimpleNamespace(has_torch_function=lambda tensors: False)

    def external(pointer, device):
        return types.SimpleNamespace(cuda_stream=pointer or "a new stream")

    module.cuda = types.SimpleNamespace(
        current_stream=lambda device: types.SimpleNamespace(cuda_stream=selected[-1]),
        default_stream=lambda device: types.SimpleNamespace(cuda_stream=0),
        ExternalStream=external, stream=stream)
    return installed(module)
