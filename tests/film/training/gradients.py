"""Gradients of similarities, for tests on any device."""


def gradients(function, x1, x2, *arguments, **options):
    """Similarities, and gradients of a sum of them with fixed weights.

    Tokens may have been moved, or ask for a gradient already: it is that of leaves of their own.
    """
    import torch

    x1, x2 = (x.detach().clone().requires_grad_() for x in (x1, x2))
    similarity = function(x1, x2, *arguments, **options)
    g = torch.Generator().manual_seed(9)
    weight = torch.randn(similarity.shape, generator=g, dtype=torch.float64)
    (similarity * weight.to(similarity)).sum().backward()
    return similarity.detach(), x1.grad, x2.grad
