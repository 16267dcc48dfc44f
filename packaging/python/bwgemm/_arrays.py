# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries, seen as pointer, type, shape and strides. No library is imported."""

import collections
import operator
import sys

from bwgemm import _library, _native

# strides are in elements; owner keeps the memory; producer: a stream whose work must come first.
Array = collections.namedtuple("Array", "pointer dtype shape strides device owner producer")

READ, WRITE, WRITE_NEW = range(3)  # what a call does to it; new: made for the call, by empty_like

_CUDA, _CUDA_MANAGED = 2, 13  # of DLDeviceType
_READ_ONLY, _IS_COPIED = 1, 2  # of DLManagedTensorVersioned's flags
_DLPACK_TYPES = {(2, 16): "float16", (2, 32): "float32", (4, 16): "bfloat16"}
_TYPESTRS = {"<f2": "float16", "<f4": "float32"}


def _module_of(array, name, kind):
    """The module, if it was imported and the array is of its class `kind`."""
    module = sys.modules.get(name)
    return module if module is not None and isinstance(array, getattr(module, kind)) else None


def pointer_of_stream(stream):
    """Of an int, or of a stream object of torch, CuPy or anything with __cuda_stream__."""
    pointer = stream
    if hasattr(stream, "__cuda_stream__"):
        pointer = stream.__cuda_stream__()[1]
    else:
        for attribute in ("cuda_stream", "ptr"):
            pointer = getattr(pointer, attribute, pointer)
    if not isinstance(pointer, int):
        raise TypeError(f"stream is {stream!r}, but must be an int or a stream object")
    if not 0 <= pointer < 1 << 64:
        raise ValueError(f"stream is {pointer}, but must be an address of 64 bits")
    return pointer


def current_stream(array):
    """The stream that calls on this array go to if none is named."""
    torch = _module_of(array, "torch", "Tensor")
    if torch is None or not array.is_cuda:
        return 0
    return torch.cuda.current_stream(array.device).cuda_stream


def overridden(function, tensors, *arguments, **named):
    """What classes derived from torch.Tensor make of the call, as of torch's own functions: by their
    __torch_function__. A tuple of it, or () if there is no such tensor. The one that they inherit calls the
    function again, and makes the result theirs."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.overrides.has_torch_function(tensors):
        return ()
    return (torch.overrides.handle_torch_function(function, tensors, *arguments, **named),)


def note_written(*arrays):
    """Tells torch that these were written. A backward pass that needs what was there then fails, as after
    torch's own functions."""
    for array in arrays:
        torch = _module_of(array, "torch", "Tensor")
        note = torch and getattr(torch.autograd.graph, "increment_version", None)
        if note:  # older releases of torch lack it
            note(array)


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


_Exported = collections.namedtuple(
    "_Exported", "pointer code bits lanes shape strides version flags")


def _exported(name, array, stream):
    """(capsule, its tensor). flags: None before DLPack 1.0, which does not have them."""
    # The producer orders its work before ours. Here 1 is the legacy stream, which 0 is elsewhere.
    try:
        capsule = array.__dlpack__(stream=stream or 1, max_version=(1, 0))
    except TypeError:  # a producer that is older than DLPack 1.0
        capsule = array.__dlpack__(stream=stream or 1)
    tensor = _Exported(*_native.dlpack(capsule))
    if tensor.version[0] > 1:
        major, minor = tensor.version
        raise BufferError(f"{name} comes as DLPack {major}.{minor}, not 1.0")
    return capsule, tensor


def _check_writable(name, array, flags):
    """By the word of DLPack 1.0, else of what the array has beside it. Silence is a no, as it is to
    NumPy: arrays that never change, of JAX say, come with the older DLPack too."""
    if flags is not None:
        is_writable = not flags & _READ_ONLY
    elif hasattr(array, "__cuda_array_interface__"):
        is_writable = not array.__cuda_array_interface__["data"][1]
    else:
        is_writable = getattr(getattr(array, "flags", None), "writeable", None)
    if is_writable is None:
        raise ValueError(f"{name} will be written, but nothing says that it may be: its __dlpack__ "
                         "is older than DLPack 1.0, and it has no __cuda_array_interface__")
    if not is_writable:
        raise ValueError(f"{name} is read-only, but will be written")


def _of_dlpack(name, array, stream, access):
    device_type, device = array.__dlpack_device__()
    if device_type not in (_CUDA, _CUDA_MANAGED):
        raise TypeError(f"{name} is not in the memory of a CUDA device")
    capsule, tensor = _exported(name, array, stream)
    if access != READ and (tensor.flags or 0) & _IS_COPIED:
        raise ValueError(f"{name} will be written, but its __dlpack__ gives a copy")
    if access == WRITE:
        _check_writable(name, array, tensor.flags)
    dtype = _DLPACK_TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        raise TypeError(f"{name} has elements of DLPack type {tensor.code} and {tensor.bits} bits, "
                        "but must be bfloat16, float16 or float32")
    strides = _compact_strides(tensor.shape) if tensor.strides is None else tensor.strides
    # An unused capsule frees what it holds when it goes: it need not be consumed.
    return Array(tensor.pointer, dtype, tensor.shape, strides, device, capsule, None)


def _of_interface(name, array, stream, access):
    interface = array.__cuda_array_interface__
    pointer, is_read_only = interface["data"]
    if access == WRITE and is_read_only:
        raise ValueError(f"{name} is read-only, but will be written")
    if interface.get("mask") is not None:
        raise TypeError(f"{name} is masked")
    dtype = _TYPESTRS.get(interface["typestr"])
    if interface["typestr"] in ("<V2", "|V2") and "bfloat16" in str(getattr(array, "dtype", "")):
        dtype = "bfloat16"
    if dtype is None:
        raise TypeError(f"{name} has elements of type {interface['typestr']}, but must be "
                        "bfloat16, float16 or float32")
    shape = tuple(map(operator.index, interface["shape"]))
    strides = _compact_strides(shape)
    if interface.get("strides") is not None:
        size = _library.BYTES[dtype]
        if any(stride % size for stride in interface["strides"]):
            raise ValueError(f"{name} has strides that are not whole elements")
        strides = tuple(operator.index(stride) // size for stride in interface["strides"])
    producer = interface.get("stream")
    is_ours = producer is None or producer == stream or {producer, stream} == {0, 1}
    return Array(operator.index(pointer or 0), dtype, shape, strides, None, array,
                 None if is_ours else pointer_of_stream(producer))


def _checked(name, array):
    """The array, which a library in C can be told of: what is too large would be cut off there."""
    if array.dtype not in _library.DATA_TYPE:
        raise TypeError(f"{name} has elements of {array.dtype}, but must be bfloat16, float16 or "
                        "float32")
    if not all(0 <= size < 1 << 63 for size in array.shape) or \
            not all(-1 << 63 <= stride < 1 << 63 for stride in array.strides):
        raise ValueError(f"{name} has shape {array.shape} and strides {array.strides}, but must have "
                         "sizes from 0 and strides that fit 64 bits")
    size = _library.BYTES[array.dtype]
    if not 0 <= array.pointer < 1 << 64 or array.pointer % size:
        raise ValueError(f"{name} is at address {array.pointer}, but must be at a multiple of {size} "
                         "that fits 64 bits")
    if array.pointer == 0 and 0 not in array.shape:
        raise ValueError(f"{name} has no memory: its address is 0")
    return array


def described(name, array, stream, access=READ):
    """Any array, as an Array. `stream`: the one that it will be used on."""
    torch = _module_of(array, "torch", "Tensor")
    if torch is not None:
        return _checked(name, _of_torch(torch, name, array))
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return _checked(name, _of_dlpack(name, array, stream, access))
    if hasattr(array, "__cuda_array_interface__"):
        seen = _checked(name, _of_interface(name, array, stream, access))
        # The interface does not say where the memory is.
        device = _native.device_of(seen.pointer) if seen.pointer else None
        return seen._replace(device=device)
    raise TypeError(f"{name} is a {type(array).__name__}, which has neither __dlpack__ nor "
                    "__cuda_array_interface__")


def empty_like(name, array, shape, dtype, stream):
    """A new array of the same library, on the same device, for use on the stream."""
    torch = _module_of(array, "torch", "Tensor")
    if torch is not None:
        device = array.device
        chosen = torch.cuda.current_stream(device)
        if chosen.cuda_stream != stream:
            # Of 0, ExternalStream makes another one.
            chosen = (torch.cuda.ExternalStream(stream, device=device) if stream not in (0, 1)
                      else torch.cuda.default_stream(device))
        with torch.cuda.stream(chosen):  # to which torch's memory then belongs
            return torch.empty(shape, dtype=getattr(torch, dtype), device=device)
    cupy = _module_of(array, "cupy", "ndarray")
    if cupy is not None:
        same = array.dtype if array.dtype.name == dtype else dtype  # NumPy has no name for bfloat16
        with array.device, cupy.cuda.ExternalStream(stream):  # to which cupy's memory then belongs
            return cupy.empty(shape, dtype=same)
    if hasattr(array, "__array_namespace__"):
        namespace = array.__array_namespace__()
        if hasattr(namespace, dtype):
            return namespace.empty(shape, dtype=getattr(namespace, dtype), device=array.device)
    raise TypeError(f"{name} is needed: a {type(array).__name__} cannot be asked for another of "
                    f"{dtype}")
