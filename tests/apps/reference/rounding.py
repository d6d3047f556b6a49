"""Where float may differ from double by more than the bars, and both are right."""
import numpy

LEAST_LOSS = 0.06  # of the outputs, or of their squares: a smaller one is the difference of nearly equal numbers
GRADIENT_ERROR = 2.0 ** -22  # of a gradient in float, of the largest of its array

STEEPEST_LOSS = 1.0  # relative change of the loss for one of the weights, as a root of a sum of squares


class Amplified(Exception):
    """This deck turns rounding into visible differences: another one says more."""


def require_calm_adam(options, name, weight, gradient, lr, bar):
    """Adam divides by the root of the second moment plus epsilon: the rounding of a gradient near 0 moves a weight by up
    to lr / epsilon times itself."""
    moved = lr * GRADIENT_ERROR * numpy.abs(gradient).max() / options["epsilon"]
    if moved > bar * numpy.abs(weight).max():
        raise Amplified(f"{name}: Adam makes {moved:g} of a gradient's rounding")


def require_flat_loss(loss, weights, gradients):
    """Weights are rounded too, each by as much of itself; the loss follows by so much more as it is steep."""
    moved = numpy.sqrt(sum(((gradients[name] * weights[name]) ** 2).sum() for name in gradients))
    if moved > STEEPEST_LOSS * loss:
        raise Amplified(f"loss: {loss:g} is small beside {moved:g}, by which it follows the weights")


def require_plain_loss(loss, sizes):
    """sizes: of what the loss is made of, outputs or their squares."""
    if loss < LEAST_LOSS * numpy.abs(sizes).max():
        raise Amplified(f"loss: {loss:g} is small beside {numpy.abs(sizes).max():g}")
