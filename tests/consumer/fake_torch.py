# SPDX-License-Identifier: Apache-2.0
"""A module that passes for a torch which has the exchange interface of DLPack, over fake_arrays."""

import contextlib
import ctypes
import types

import fake_arrays
from fake_arrays import SIZE

_TYPES = {"bfloat16": (4, 16), "float16": (2, 16), "float32": (2, 32), "float64": (2, 64)}
_streams = {0: 0, 1: 0}  # by device: what current_work_stream says


class _Exchange(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("older", ctypes.c_void_p),
                ("allocate", ctypes.c_void_p), ("to_managed", ctypes.c_void_p),
                ("from_managed", ctypes.c_void_p), ("tensor_of", ctypes.c_void_p),
                ("current_stream", ctypes.c_void_p)]


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(fake_arrays._Tensor))
def _tensor_of(tensor, seen):
    sizes = (ctypes.c_int64 * len(tensor.shape))(*tensor.shape)
    steps = (ctypes.c_int64 * len(tensor.shape))(*tensor.strides)
    tensor.kept = sizes, steps
    code, bits = _TYPES[vars(tensor)["dtype"]]
    seen[0] = fake_arrays._Tensor(
        tensor.pointer.value, 2 if tensor.is_cuda else 1, tensor.device_id, len(tensor.shape), code,
        bits, 1, ctypes.addressof(sizes), ctypes.addressof(steps), 0)
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
def _current_stream(device_type, device, stream):
    stream[0] = _streams[device]
    return 0


_exchange = _Exchange(1, 3, None, None, None, None,
                      *(ctypes.cast(function, ctypes.c_void_p) for function in
                        (_tensor_of, _current_stream)))
_NAME = b"dlpack_exchange_api"  # a capsule does not keep its own


class Tensor(fake_arrays.Tensor):
    """What of a torch.Tensor of torch 2.10 is used."""

    __dlpack_c_exchange_api__ = fake_arrays._new_capsule(
        ctypes.addressof(_exchange), _NAME, None)
    is_negated = False

    def is_neg(self):
        return self.is_negated


class Parameter(Tensor):
    pass


class Derived(Tensor):
    """A class that the user derived."""


@contextlib.contextmanager
def torch(current_stream=0, grad=False, autocast=False, modes=0, level=None, trace=None):
    """Installed as torch. .made: how many tensors empty_strided() made; autocast and the rest: what is in
    force."""
    with fake_arrays.torch(current_stream, grad) as module:
        def empty_strided(size, stride, *, dtype, device):
            module.made += 1
            return Tensor(size, dtype=dtype, strides=stride, device=device.index)

        def empty(shape, dtype, device):
            return Tensor(shape, dtype=dtype, device=device.index)

        module.made, module.empty = 0, empty
        module.Tensor, module.empty_strided = Tensor, empty_strided
        module.nn = types.SimpleNamespace(Parameter=Parameter)
        module.is_autocast_enabled = lambda: autocast
        module._C = types.SimpleNamespace(
            _len_torch_dispatch_stack=lambda: modes,
            _get_tracing_state=lambda: trace,
            _functorch=types.SimpleNamespace(peek_interpreter_stack=lambda: level))
        _streams.update({0: current_stream, 1: current_stream})
        yield module
