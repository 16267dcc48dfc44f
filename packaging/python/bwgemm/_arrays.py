# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries, seen as pointer, type, shape and strides. No library is imported."""

import collections
import ctypes
import sys

from bwgemm import _library

# strides are in elements; owner keeps the memory; producer: a stream whose work must come first.
Array = collections.namedtuple("Array", "pointer dtype shape strides device owner producer")

_CUDA, _CUDA_MANAGED = 2, 13  # of DLDeviceType
_DLPACK_TYPES = {(2, 16): "float16", (2, 32): "float32", (4, 16): "bfloat16"}
_TYPESTRS = {"<f2": "float16", "<f4": "float32"}


class _DLTensor(ctypes.Structure):
    # The first member of both DLManagedTensor and what a capsule named "dltensor" points to.
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, (
    ctypes.py_object, ctypes.c_char_p)


def torch_of(array):
    """The module torch, if the array is one of its tensors."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(array, torch.Tensor) else None


def pointer_of_stream(stream):
    """Of an int, or of a stream object of torch, CuPy or anything with __cuda_stream__."""
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    for attribute in ("cuda_stream", "ptr"):
        stream = getattr(stream, attribute, stream)
    if not isinstance(stream, int):
        raise TypeError(f"stream is {stream!r}, but must be an int or a stream object")
    return stream


def current_stream(array):
    """The stream that calls on this array go to if none is named."""
    torch = torch_of(array)
    if torch is None or not array.is_cuda:
        return 0
    return torch.cuda.current_stream(array.device).cuda_stream


def _of_torch(torch, name, tensor):
    if not tensor.is_cuda or tensor.layout != torch.strided:
        raise TypeError(f"{name} must be a strided tensor on a CUDA device")
    if tensor.requires_grad and torch.is_grad_enabled():
        raise TypeError(f"{name} requires a gradient, which is not computed here: use "
                        "torch.no_grad() or detach()")
    return Array(tensor.data_ptr(), str(tensor.dtype).split(".")[-1], tuple(tensor.shape),
                 tuple(tensor.stride()), tensor.device.index, tensor, None)


def _compact_strides(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return tuple(strides)


def _of_dlpack(name, array, stream):
    device_type, device = array.__dlpack_device__()
    if device_type not in (_CUDA, _CUDA_MANAGED):
        raise TypeError(f"{name} is not in the memory of a CUDA device")
    # The producer orders its work before ours. Here 1 is the legacy stream, which 0 is elsewhere.
    capsule = array.__dlpack__(stream=stream or 1)
    tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    dtype = _DLPACK_TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        raise TypeError(f"{name} has elements of DLPack type {tensor.code} and {tensor.bits} bits, "
                        "but must be bfloat16, float16 or float32")
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = tuple(tensor.strides[:tensor.ndim]) if tensor.strides else _compact_strides(shape)
    # An unused capsule frees what it holds when it goes: it need not be consumed.
    return Array((tensor.data or 0) + tensor.byte_offset, dtype, shape, strides, device, capsule,
                 None)


def _of_interface(name, array, stream, is_written):
    interface = array.__cuda_array_interface__
    pointer, is_read_only = interface["data"]
    if is_written and is_read_only:
        raise ValueError(f"{name} is read-only, but will be written")
    if interface.get("mask") is not None:
        raise TypeError(f"{name} is masked")
    dtype = _TYPESTRS.get(interface["typestr"])
    if interface["typestr"] in ("<V2", "|V2") and "bfloat16" in str(getattr(array, "dtype", "")):
        dtype = "bfloat16"
    if dtype is None:
        raise TypeError(f"{name} has elements of type {interface['typestr']}, but must be "
                        "bfloat16, float16 or float32")
    shape = tuple(interface["shape"])
    strides = _compact_strides(shape)
    if interface.get("strides") is not None:
        size = 4 if dtype == "float32" else 2
        if any(stride % size for stride in interface["strides"]):
            raise ValueError(f"{name} has strides that are not whole elements")
        strides = tuple(stride // size for stride in interface["strides"])
    device = _library.driver().device_of(pointer) if pointer else None
    producer = interface.get("stream")
    is_ours = producer is None or producer == stream or {producer, stream} == {0, 1}
    return Array(pointer or 0, dtype, shape, strides, device, array, None if is_ours else producer)


def described(name, array, stream, is_written=False):
    """Any array, as an Array. `stream`: the one that it will be used on."""
    torch = torch_of(array)
    if torch is not None:
        return _of_torch(torch, name, array)
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return _of_dlpack(name, array, stream)
    if hasattr(array, "__cuda_array_interface__"):
        return _of_interface(name, array, stream, is_written)
    raise TypeError(f"{name} is a {type(array).__name__}, which has neither __dlpack__ nor "
                    "__cuda_array_interface__")


def empty_like(array, shape, dtype, stream):
    """A new array of the same library, on the same device, for use on the stream."""
    torch = torch_of(array)
    if torch is not None:
        device = array.device
        chosen = torch.cuda.current_stream(device)
        if chosen.cuda_stream != stream:
            # Of 0, ExternalStream makes another one.
            chosen = (torch.cuda.ExternalStream(stream, device=device) if stream not in (0, 1)
                      else torch.cuda.default_stream(device))
        with torch.cuda.stream(chosen):  # to which torch's memory then belongs
            return torch.empty(shape, dtype=getattr(torch, dtype), device=device)
    if hasattr(array, "__array_namespace__"):
        namespace = array.__array_namespace__()
        if hasattr(namespace, dtype):
            return namespace.empty(shape, dtype=getattr(namespace, dtype), device=array.device)
    raise TypeError(f"c is needed: a {type(array).__name__} cannot be asked for another of "
                    f"{dtype}")
