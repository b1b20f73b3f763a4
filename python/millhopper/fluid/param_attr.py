# SPDX-License-Identifier: Apache-2.0
"""ParamAttr: how a layer makes a parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from millhopper.fluid.initializer import Initializer

__all__ = ["ParamAttr"]

# What layers take as param_attr and bias_attr: a ParamAttr, a name, an initializer, None for all
# defaults, or False for no parameter.
ParamAttrLike: TypeAlias = "ParamAttr | str | Initializer | bool | None"


class ParamAttr:
    """How a layer makes a parameter, where its defaults do not suit.

    Attributes:
        name: of the parameter; None makes one up. Layers that give one name share the parameter.
        initializer: what it is filled with first; None is the layer's default.
        learning_rate: a factor for the optimizer's learning rate.
        trainable: whether optimizers change it.

    Source: PaddlePaddle's fluid.param_attr, 2018.
    """

    def __init__(
        self,
        name: str | None = None,
        initializer: Initializer | None = None,
        learning_rate: float = 1.0,
        regularizer: None = None,
        trainable: bool = True,
        gradient_clip: None = None,
        do_model_average: bool = False,
    ) -> None:
        """See the attributes for what is taken.

        Raises:
            NotImplementedError: ``regularizer``, ``gradient_clip`` or ``do_model_average`` is
                given; the core has no operators for them.
        """
        for option, value in (
            ("regularizer", regularizer),
            ("gradient_clip", gradient_clip),
            ("do_model_average", do_model_average or None),
        ):
            if value is not None:
                raise NotImplementedError(f"ParamAttr: there is no {option} here; leave it out")
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.trainable = trainable

    @staticmethod
    def to_attr(arg: ParamAttrLike) -> ParamAttr | None:
        """The ParamAttr that a layer's argument means; None for False, no parameter.

        Raises:
            TypeError: it means none.
        """
        if arg is None or arg is True:
            return ParamAttr()
        if arg is False:
            return None
        if isinstance(arg, ParamAttr):
            return arg
        if isinstance(arg, str):
            return ParamAttr(name=arg)
        if callable(arg):
            initializer: Any = arg
            return ParamAttr(initializer=initializer)
        raise TypeError(f"a parameter cannot be described by {arg!r}; give a ParamAttr or a name")
