# SPDX-License-Identifier: Apache-2.0
"""Layers that compute: what takes more than the one operator that ``layers.ops`` appends."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any

from millhopper.base.zipped import zip_strict
from millhopper.fluid.initializer import NormalInitializer
from millhopper.fluid.layers import helper
from millhopper.fluid.param_attr import ParamAttrLike
from millhopper.fluid.parameters import make_parameter
from millhopper.programs.var_type import VarType, is_float
from millhopper.programs.variable import Variable

__all__ = [
    "accuracy",
    "conv2d",
    "cross_entropy",
    "elementwise_add",
    "elementwise_div",
    "elementwise_mul",
    "elementwise_sub",
    "fc",
    "pool2d",
    "reshape",
    "softmax",
    "softmax_with_cross_entropy",
    "square_error_cost",
    "topk",
]


def fc(
    input: Variable | Sequence[Variable],
    size: int,
    num_flatten_dims: int = 1,
    param_attr: ParamAttrLike | Sequence[ParamAttrLike] = None,
    bias_attr: ParamAttrLike = None,
    use_mkldnn: bool = False,
    act: str | None = None,
    is_test: bool = False,
    name: str | None = None,
) -> Variable:
    """A fully connected layer: act(input weights + bias).

    Args:
        input: float [n, ...], or several, each with its own weights, whose products are added.
        size: how many values come out of each row.
        num_flatten_dims: how many of the first axes are rows; the others are laid end to end.
        param_attr: of the weights [values of a row, size], or one for each input; ``Xavier`` by
            default.
        bias_attr: of the bias [size], 0 at first; False is none.
        use_mkldnn: the lineage's, without effect.
        act: an operator from X to Out on top, such as "relu" or "softmax".
        is_test: the lineage's, without effect.
        name: of the layer, from which those of its variables are made.

    Returns:
        The input's first ``num_flatten_dims`` dims, and size.

    Raises:
        TypeError: ``size`` is no integer.
        ValueError: it is below 1, the dims of an input are not known, or its values are no floats.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    size = _at_least("fc", "size", size, 1)
    inputs = [input] if isinstance(input, Variable) else list(input)
    attrs = (
        list(param_attr) if isinstance(param_attr, (list, tuple)) else [param_attr] * len(inputs)
    )
    if len(attrs) != len(inputs):
        raise ValueError(f"fc: {len(inputs)} inputs, but {len(attrs)} param_attr")
    layer = helper.layer_name("fc", name)
    block = helper.current_block()
    products = []
    for variable, attr in zip_strict(inputs, attrs):
        shape = helper.known_shape(layer, variable)
        if variable.dtype is not None and not is_float(variable.dtype):
            raise ValueError(
                f"{layer}: {variable.name!r} holds {variable.dtype.name}; cast it to float32 first"
            )
        row = shape[num_flatten_dims:]
        if not row or -1 in row:
            raise ValueError(
                f"{layer}: the dims of {variable.name!r} are {list(shape)}; those from axis"
                f" {num_flatten_dims} on must be known, for the weights have as many rows"
            )
        dtype = variable.dtype or VarType.FP32
        weights = make_parameter(layer, attr, (math.prod(row), size), dtype)
        if weights is None:
            raise ValueError(f"{layer}: param_attr is False, but there is no layer without weights")
        product = helper.new_variable(layer)
        block.append_op(
            "mul",
            inputs={"X": variable, "Y": weights},
            outputs={"Out": product},
            attrs={"x_num_col_dims": num_flatten_dims},
        )
        products.append(product)
    out = products[0]
    if len(products) > 1:
        out = helper.new_variable(layer)
        block.append_op("sum", inputs={"X": products}, outputs={"Out": out})
    bias = make_parameter(layer, bias_attr, (size,), out.dtype or VarType.FP32, is_bias=True)
    if bias is not None:
        biased = helper.new_variable(layer)
        block.append_op(
            "elementwise_add",
            inputs={"X": out, "Y": bias},
            outputs={"Out": biased},
            attrs={"axis": num_flatten_dims},
        )
        out = biased
    return helper.append_activation(layer, out, act)


def conv2d(
    input: Variable,
    num_filters: int,
    filter_size: int | Sequence[int],
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int | None = None,
    param_attr: ParamAttrLike = None,
    bias_attr: ParamAttrLike = None,
    use_cudnn: bool = True,
    use_mkldnn: bool = False,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """A convolution of images: act(filters over the windows of an image + bias).

    One number for ``filter_size``, ``stride``, ``padding`` or ``dilation`` is that of the height
    and of the width; two are one for each.

    Args:
        input: float [n, channels, height, width].
        num_filters: how many channels come out.
        filter_size: pixels of a filter.
        stride: pixels from one window to the next.
        padding: zeros above and below, and zeros left and right.
        dilation: pixels from one value of a filter to the next.
        groups: channels and filters are divided into so many groups, 1 by default; the filters of a
            group see its channels only.
        param_attr: of the filters [num_filters, channels / groups, height, width]; by default
            random numbers of a normal distribution with variance 2 / (height * width * channels).
        bias_attr: of the bias [num_filters], 0 at first; False is none.
        use_cudnn, use_mkldnn: the lineage's, without effect.
        act: an operator from X to Out on top, such as "relu".
        name: of the layer, from which those of its variables are made.

    Returns:
        [n, num_filters, windows one below the other, windows side by side], type of the input.

    Raises:
        TypeError: a number is no integer.
        ValueError: a number is too small, there are neither one nor two, channels or filters are
            not a multiple of ``groups``, the channels of the input are not known, its values are no
            floats, or it has too few pixels.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    filters = _at_least("conv2d", "num_filters", num_filters, 1)
    group_count = _at_least("conv2d", "groups", 1 if groups is None else groups, 1)
    size = _pair("conv2d", "filter_size", filter_size, 1)
    attrs = {
        "strides": _pair("conv2d", "stride", stride, 1),
        "paddings": _pair("conv2d", "padding", padding, 0),
        "dilations": _pair("conv2d", "dilation", dilation, 1),
        "groups": group_count,
    }
    layer = helper.layer_name("conv2d", name)
    shape = helper.known_shape(layer, input)
    if input.dtype is not None and not is_float(input.dtype):
        raise ValueError(
            f"{layer}: {input.name!r} holds {input.dtype.name}; cast it to float32 first"
        )
    if len(shape) != 4 or shape[1] == -1:
        raise ValueError(
            f"{layer}: the dims of {input.name!r} are {list(shape)}; images are"
            " [n, channels, height, width] with a known number of channels"
        )
    channels = shape[1]
    if channels % group_count or filters % group_count:
        raise ValueError(
            f"{layer}: {channels} channels and {filters} filters cannot be divided into"
            f" {group_count} groups"
        )
    dtype = input.dtype or VarType.FP32
    weights = make_parameter(
        layer,
        param_attr,
        (filters, channels // group_count, *size),
        dtype,
        default_initializer=NormalInitializer(
            0.0, math.sqrt(2.0 / (math.prod(size) * max(channels, 1)))
        ),
    )
    if weights is None:
        raise ValueError(f"{layer}: param_attr is False, but there is no layer without filters")
    out = helper.new_variable(layer)
    block = helper.current_block()
    block.append_op(
        "conv2d", inputs={"Input": input, "Filter": weights}, outputs={"Output": out}, attrs=attrs
    )
    bias = make_parameter(layer, bias_attr, (filters,), dtype, is_bias=True)
    if bias is not None:
        biased = helper.new_variable(layer)
        block.append_op(
            "elementwise_add",
            inputs={"X": out, "Y": bias},
            outputs={"Out": biased},
            attrs={"axis": 1},
        )
        out = biased
    return helper.append_activation(layer, out, act)


def pool2d(
    input: Variable,
    pool_size: int | Sequence[int] = -1,
    pool_type: str = "max",
    pool_stride: int | Sequence[int] = 1,
    pool_padding: int | Sequence[int] = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    use_mkldnn: bool = False,
    name: str | None = None,
    exclusive: bool = True,
) -> Variable:
    """The highest value, or the mean, of each window of each channel of images.

    Args:
        input: float32 or float64 [n, channels, height, width].
        pool_size: pixels of a window, one number or those of height and width.
        pool_type: "max" or "avg".
        pool_stride: pixels from one window to the next.
        pool_padding: places above and below, and left and right, where windows may begin and end.
        global_pooling: whether the image is one window; the three arguments above have no effect.
        ceil_mode: whether the last windows may reach beyond the padding.
        use_cudnn, use_mkldnn: the lineage's, without effect.
        name: of the layer.
        exclusive: whether a mean is one of the values in the image, not also of zeros in the
            padding.

    Returns:
        [n, channels, windows one below the other, windows side by side], type of the input.

    Raises:
        TypeError: a number is no integer.
        ValueError: it is too small, there are neither one nor two, ``pool_type`` is another one, or
            a window would lie in the padding alone.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    if pool_type not in ("max", "avg"):
        raise ValueError(f"pool2d: pool_type is {pool_type!r}; it must be 'max' or 'avg'")
    attrs = {
        "pooling_type": pool_type,
        "ksize": _pair("pool2d", "pool_size", 1 if global_pooling else pool_size, 1),
        "strides": _pair("pool2d", "pool_stride", pool_stride, 1),
        "paddings": _pair("pool2d", "pool_padding", pool_padding, 0),
        "global_pooling": global_pooling,
        "ceil_mode": ceil_mode,
        "exclusive": exclusive,
    }
    out = helper.new_variable(helper.layer_name("pool2d", name))
    helper.current_block().append_op(
        "pool2d", inputs={"X": input}, outputs={"Out": out}, attrs=attrs
    )
    return out


def _at_least(layer: str, name: str, value: object, least: int) -> int:
    """An argument of a layer, which must be an integer."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{layer}: {name} is {value!r}; it must be an integer")
    if value < least:
        raise ValueError(f"{layer}: {name} is {value}; it must be at least {least}")
    return int(value)


def _pair(layer: str, name: str, value: int | Sequence[int], least: int) -> list[int]:
    """The values for height and width of an argument that has one for both or one for each."""
    if isinstance(value, (list, tuple)):
        if len(value) != 2:
            raise ValueError(
                f"{layer}: {name} is {value!r}; it is one integer, or two: of height and width"
            )
        return [_at_least(layer, name, item, least) for item in value]
    return [_at_least(layer, name, value, least)] * 2


def softmax(
    input: Variable,
    param_attr: None = None,
    bias_attr: None = None,
    use_cudnn: bool = True,
    name: str | None = None,
) -> Variable:
    """e^input, scaled so that each row along the last axis sums to 1.

    Only ``input`` and ``name`` have a meaning; the other arguments are the lineage's.

    Args:
        input: float32 or float64 [..., classes].
        param_attr, bias_attr, use_cudnn: the lineage's, without effect.
        name: of the layer.

    Returns:
        Dims and type of the input.

    Raises:
        TypeError: the input is neither a variable nor a name.
        Error: its type does not fit, when the program is run.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    return helper.append_activation(helper.layer_name("softmax", name), input, "softmax")


def cross_entropy(
    input: Variable, label: Variable, soft_label: bool = False, ignore_index: int = -100
) -> Variable:
    """-log of the probability that each row gives to its label.

    Args:
        input: probabilities [..., classes].
        label: int64 [..., 1]; with ``soft_label`` weights like the input.
        soft_label: whether the label holds a weight for each class.
        ignore_index: there is none here; only the lineage's default is taken.

    Returns:
        [..., 1], type of the input.

    Raises:
        NotImplementedError: ``ignore_index`` is another one.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    _refuse_ignore_index(ignore_index)
    loss = helper.new_variable(helper.layer_name("cross_entropy", None))
    helper.current_block().append_op(
        "cross_entropy",
        inputs={"X": input, "Label": label},
        outputs={"Y": loss},
        attrs={"soft_label": soft_label},
    )
    return loss


def softmax_with_cross_entropy(
    logits: Variable,
    label: Variable,
    soft_label: bool = False,
    ignore_index: int = -100,
    return_softmax: bool = False,
) -> Any:
    """``cross_entropy(softmax(logits), label)``, in one operator that loses no digits.

    Takes and raises the same as ``cross_entropy``, except that it takes ``logits``, any numbers
    [..., classes], instead of probabilities.

    Returns:
        The loss [..., 1]; with ``return_softmax`` the loss and the probabilities.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    _refuse_ignore_index(ignore_index)
    layer = helper.layer_name("softmax_with_cross_entropy", None)
    softmax, loss = helper.new_variable(layer), helper.new_variable(layer)
    helper.current_block().append_op(
        "softmax_with_cross_entropy",
        inputs={"Logits": logits, "Label": label},
        outputs={"Softmax": softmax, "Loss": loss},
        attrs={"soft_label": soft_label},
    )
    return (loss, softmax) if return_softmax else loss


def _refuse_ignore_index(ignore_index: int) -> None:
    if ignore_index != -100:
        raise NotImplementedError(f"no label is left out here; ignore_index is {ignore_index}")


def square_error_cost(input: Variable, label: Variable) -> Variable:
    """(input - label)^2, value by value.

    Args:
        input: float32, float64, int32 or int64, any dims.
        label: the same; dims of the input or a part of them, or a number.

    Returns:
        Dims of the input; the type of ``input - label``.

    Raises:
        TypeError: neither is a variable, or one is neither a variable nor a number.
        Error: dims do not fit, when the program is run.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    difference = input - label
    return difference * difference


def topk(input: Variable, k: int, name: str | None = None) -> tuple[Variable, Variable]:
    """The k highest values of each row along the last axis, and their places in it.

    Args:
        input: float32 or float64 [..., classes].
        k: how many; no more than there are classes.
        name: of the layer.

    Returns:
        The values [..., k], type of the input, the highest first; and their places, int64 [..., k].

    Raises:
        TypeError: the input is neither a variable nor a name, or ``k`` is no integer.
        ValueError: ``k`` is below 1.
        Error: dims or types do not fit, when the program is run.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    layer = helper.layer_name("top_k", name)
    values = helper.new_variable(layer)
    indices = helper.new_variable(layer, stop_gradient=True)
    helper.current_block().append_op(
        "top_k", inputs={"X": input}, outputs={"Out": values, "Indices": indices}, attrs={"k": k}
    )
    return values, indices


def accuracy(
    input: Variable,
    label: Variable,
    k: int = 1,
    correct: Variable | None = None,
    total: Variable | None = None,
) -> Variable:
    """The share of rows whose label is among the k classes with the highest values.

    Args:
        input: a value for each class, [n, classes].
        label: int64 [n, 1].
        k: how many classes count.
        correct: takes the number of such rows, int32 [1].
        total: takes the number of rows, int32 [1].

    Returns:
        float32 [1].

    Raises:
        TypeError, ValueError, Error: as in ``topk``; the label is checked then, too.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    values, indices = topk(input, k)
    layer = helper.layer_name("accuracy", None)
    share = helper.new_variable(layer, stop_gradient=True)
    helper.current_block().append_op(
        "accuracy",
        inputs={"Out": values, "Indices": indices, "Label": label},
        outputs={
            "Accuracy": share,
            "Correct": helper.result(layer, correct),
            "Total": helper.result(layer, total),
        },
    )
    return share


def reshape(
    x: Variable,
    shape: Iterable[int],
    actual_shape: None = None,
    act: str | None = None,
    inplace: bool = True,
    name: str | None = None,
) -> Variable:
    """x with other dims and the same values.

    Args:
        x: any dims and type.
        shape: dims; 0 takes the axis of x, and one -1 what is left.
        actual_shape: dims that the run decides are not supported; only None is taken.
        act: an operator from X to Out on top.
        inplace: the lineage's, without effect.
        name: of the layer.

    Raises:
        NotImplementedError: ``actual_shape`` is given.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    if actual_shape is not None:
        raise NotImplementedError("reshape: dims from a variable are not supported; give shape")
    layer = helper.layer_name("reshape", name)
    out = helper.new_variable(layer)
    helper.current_block().append_op(
        "reshape", inputs={"X": x}, outputs={"Out": out}, attrs={"shape": list(shape)}
    )
    return helper.append_activation(layer, out, act)


def _elementwise(
    type: str, x: Variable, y: Variable, axis: int, act: str | None, name: str | None
) -> Variable:
    layer = helper.layer_name(type, name)
    out = helper.new_variable(layer)
    helper.current_block().append_op(
        type, inputs={"X": x, "Y": y}, outputs={"Out": out}, attrs={"axis": axis}
    )
    return helper.append_activation(layer, out, act)


def elementwise_add(
    x: Variable, y: Variable, axis: int = -1, act: str | None = None, name: str | None = None
) -> Variable:
    """act(x + y), value by value.

    Args:
        x: any dims; float32, float64, int32 or int64.
        y: type of x; dims of x or a part of them.
        axis: the axis of x where y's dims begin; -1: y has x's last dims.
        act: an operator from X to Out on top, such as "relu".
        name: of the layer.

    Returns:
        Dims and type of x.

    Raises:
        TypeError: an argument is neither a variable nor a name.
        ValueError: ``axis`` is below -1, or ``act`` is no such operator.
        Error: dims or types do not fit, when the program is run.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    return _elementwise("elementwise_add", x, y, axis, act, name)


def elementwise_sub(
    x: Variable, y: Variable, axis: int = -1, act: str | None = None, name: str | None = None
) -> Variable:
    """act(x - y), value by value. Arguments, result and errors as in ``elementwise_add``.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    return _elementwise("elementwise_sub", x, y, axis, act, name)


def elementwise_mul(
    x: Variable, y: Variable, axis: int = -1, act: str | None = None, name: str | None = None
) -> Variable:
    """act(x * y), value by value. Arguments, result and errors as in ``elementwise_add``.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    return _elementwise("elementwise_mul", x, y, axis, act, name)


def elementwise_div(
    x: Variable, y: Variable, axis: int = -1, act: str | None = None, name: str | None = None
) -> Variable:
    """act(x / y), value by value. Integers round to 0.

    Arguments, result and errors as in ``elementwise_add``; an integer divided by 0 is an ``Error``.

    Source: PaddlePaddle's fluid.layers, 2018.
    """
    return _elementwise("elementwise_div", x, y, axis, act, name)
