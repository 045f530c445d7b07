import importlib.util
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from film.tokens.transport import transport_plan
from film.training import allpairs as module
from film.training.rowpairs import TRAINABLE

torch = pytest.importorskip("torch", reason="needs the extra neural")
from tests.film.training.gradients import gradients  # noqa: E402

allpairs_similarity = module.allpairs_similarity

RELAXED = ("rcmd", "rcmd1", "rcmd2")


def batch(seed, texts, length, h=6, dtype=torch.float64, *, ragged=False, shift=0.0):
    """Tokens and their mask; a ragged batch has padding at any place, the first too."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(texts, length, h, generator=g, dtype=torch.float64) + shift
    mask = torch.ones(texts, length, dtype=torch.bool)
    if ragged:
        mask = torch.rand(texts, length, generator=g) < 0.6
        mask[torch.arange(texts), (torch.arange(texts) + 1) % length] = True
        mask[0, 0] = False
    return x.to(dtype), mask


def weights_of(mask, seed=5):
    """Some of them 0, and padding has some too."""
    g = torch.Generator().manual_seed(seed)
    weights = torch.rand(mask.shape, generator=g, dtype=torch.float64)
    weights *= torch.rand(mask.shape, generator=g) < 0.7
    weights[torch.arange(len(mask)), mask.int().argmax(dim=1)] = 0.5
    return weights


def definition(x1, x2, mask1, mask2, method, weights1=None, weights2=None):
    """Pair after pair by `film.tokens.transport_plan`."""
    found = np.empty((len(x1), len(x2)))
    for b in range(len(x1)):
        for c in range(len(x2)):
            kept1, kept2 = mask1[b], mask2[c]
            weights = {}
            if weights1 is not None:
                weights["weights1"] = weights1[b][kept1].numpy()
            if weights2 is not None:
                weights["weights2"] = weights2[c][kept2].numpy()
            sides = x1[b][kept1].numpy(), x2[c][kept2].numpy()
            found[b, c] = transport_plan(*sides, method, **weights).similarity
    return found


def dense(x1, x2, mask1, mask2, method, weights1=None, weights2=None):
    """The same by torch alone, with every cosine and torch's own gradient."""
    w1 = mask1.to(x1.dtype) if weights1 is None else weights1 * mask1
    w2 = mask2.to(x2.dtype) if weights2 is None else weights2 * mask2
    mass1, mass2 = w1 / w1.sum(1, keepdim=True), w2 / w2.sum(1, keepdim=True)
    cosine = torch.nn.functional.cosine_similarity
    means = [(x * a[..., None]).sum(1) for x, a in ((x1, mass1), (x2, mass2))]
    of_means = cosine(means[0][:, None], means[1][None], dim=-1)
    if method == "avg":
        return of_means
    if method == "cls":
        firsts = [x[range(len(x)), m.int().argmax(1)] for x, m in ((x1, mask1), (x2, mask2))]
        return cosine(firsts[0][:, None], firsts[1][None], dim=-1)
    S = cosine(x1[:, :, None, None], x2, dim=-1)
    hidden = ~(mask1[:, :, None, None] & mask2)
    S = S.masked_fill(hidden, -torch.inf)
    rows = S.max(3).values.masked_fill(~mask1[..., None], 0) * mass1[..., None]
    columns = S.max(1).values.masked_fill(~mask2, 0) * mass2
    rows, columns = rows.sum(1), columns.sum(2)
    relaxed = {"rcmd1": rows, "rcmd2": columns}.get(method, (rows + columns) / 2)
    return (relaxed + of_means) / 2 if method == "rcmd+avg" else relaxed


@pytest.mark.parametrize(
    ("method", "sides"),
    [(m, sides) for m in TRAINABLE for sides in ("", "1", "2", "12") if m != "cls" or not sides],
)
@pytest.mark.parametrize("ragged", [False, True])
def test_each_pair_is_the_definition(method, sides, ragged):
    x1, mask1 = batch(0, 4, 5, ragged=ragged)
    x2, mask2 = batch(1, 7, 3, ragged=ragged)
    weights1 = weights_of(mask1) if "1" in sides else None
    weights2 = weights_of(mask2) if "2" in sides else None
    found = allpairs_similarity(x1, x2, mask1, mask2, method, weights1=weights1, weights2=weights2)
    expected = definition(x1, x2, mask1, mask2, method, weights1, weights2)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-14)


@pytest.mark.parametrize("method", TRAINABLE)
@pytest.mark.parametrize("padding", [0.0, 1e30, -1e300, np.inf, np.nan])
def test_padding_counts_for_nothing_even_where_all_cosines_are_negative(method, padding):
    x1, mask1 = batch(0, 4, 5, ragged=True, shift=5)
    x2, mask2 = batch(1, 7, 3, ragged=True, shift=5)
    x2 = -x2
    x1[~mask1], x2[~mask2] = padding, -padding
    found, d1, d2 = gradients(allpairs_similarity, x1, x2, mask1, mask2, method)
    assert (found < 0).all()
    np.testing.assert_allclose(found, definition(x1, x2, mask1, mask2, method), atol=1e-14)
    assert (d1[~mask1] == 0).all() and (d2[~mask2] == 0).all()
    clean = x1.masked_fill(~mask1[..., None], 0), x2.masked_fill(~mask2[..., None], 0)
    _, expected1, expected2 = gradients(dense, *clean, mask1, mask2, method)
    torch.testing.assert_close(d1[mask1], expected1[mask1], atol=1e-14, rtol=1e-12)
    torch.testing.assert_close(d2[mask2], expected2[mask2], atol=1e-14, rtol=1e-12)


@pytest.mark.parametrize("method", TRAINABLE)
@pytest.mark.parametrize("padded", ["", "1", "2", "12"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_are_those_of_the_dense_form(method, padded, weighted):
    x1, mask1 = batch(2, 5, 4, ragged="1" in padded)
    x2, mask2 = batch(3, 3, 6, ragged="2" in padded)
    options = {}
    if weighted and method != "cls":
        options = {"weights1": weights_of(mask1), "weights2": weights_of(mask2)}
    found = gradients(allpairs_similarity, x1, x2, mask1, mask2, method, **options)
    expected = gradients(dense, x1, x2, mask1, mask2, method, **options)
    for one, other in zip(found, expected, strict=True):
        assert float(other.abs().max()) > 1e-3
        torch.testing.assert_close(one, other, atol=1e-14, rtol=1e-12)


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("sizes", [(5, 4, 7, 3), (7, 3, 5, 4), (1, 6, 9, 2)], ids=str)
def test_tiles_change_nothing(ragged, sizes):
    B, L1, C, L2 = sizes
    x1, mask1 = batch(0, B, L1, ragged=ragged and B > 1)
    x2, mask2 = batch(1, C, L2, ragged=ragged)
    expected = gradients(dense, x1, x2, mask1, mask2, "rcmd")
    for tile in (1, L1 * L2, 3 * L1 * L2, 8 * L1 * L2 + 1, 2**40):
        found = gradients(allpairs_similarity, x1, x2, mask1, mask2, tile=tile)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, atol=1e-14, rtol=1e-12)


@pytest.mark.parametrize("sizes", [(5, 4, 7, 3), (1, 1, 1, 1), (2, 100, 300, 10)], ids=str)
@pytest.mark.parametrize("tile", [1, 50, 3000, 2**18])
def test_tiles_cover_all_pairs_once_and_hold_no_more_cosines_than_asked_for(sizes, tile):
    B, L1, C, L2 = sizes
    seen = np.zeros((B, C), dtype=int)
    for rows, columns in module._tiles(B, L1, C, L2, tile):
        seen[rows, columns] += 1
        assert seen[rows, columns].size * L1 * L2 <= max(tile, L1 * L2)
    assert (seen == 1).all()


@pytest.mark.parametrize("method", TRAINABLE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_repeated_run_is_the_same_to_the_bit(method, dtype):
    x1, mask1 = batch(0, 20, 8, h=16, dtype=dtype, ragged=True)
    x2, mask2 = batch(1, 30, 8, h=16, dtype=dtype, ragged=True)
    first = gradients(allpairs_similarity, x1, x2, mask1, mask2, method, tile=2000)
    for _ in range(3):
        again = gradients(allpairs_similarity, x1, x2, mask1, mask2, method, tile=2000)
        assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))


@pytest.mark.parametrize("method", TRAINABLE)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_short_floats_are_multiplied_and_summed_in_float32(method, dtype):
    x1, mask1 = batch(0, 6, 8, h=64, dtype=dtype, ragged=True)
    x2, mask2 = batch(1, 7, 9, h=64, dtype=dtype, ragged=True)
    found = gradients(allpairs_similarity, x1, x2, mask1, mask2, method)
    assert [part.dtype for part in found] == [torch.float32, dtype, dtype]
    exact = gradients(allpairs_similarity, x1.float(), x2.float(), mask1, mask2, method)
    assert torch.equal(found[0], exact[0])
    for one, other in zip(found[1:], exact[1:], strict=True):
        # Rounded once, at the end.
        torch.testing.assert_close(one, other.to(dtype), atol=0, rtol=torch.finfo(dtype).eps)
        assert float(one.abs().max()) > 0


@pytest.mark.parametrize("method", TRAINABLE)
def test_autocast_changes_nothing(method):
    x1, _ = batch(0, 6, 8, h=64, dtype=torch.float32)
    x2, _ = batch(1, 7, 9, h=64, dtype=torch.float32)
    expected = gradients(allpairs_similarity, x1, x2, method=method)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x1[0] @ x2[0].T).dtype == torch.bfloat16
        found = gradients(allpairs_similarity, x1, x2, method=method)
        again = allpairs_similarity(x1.requires_grad_(), x2, method=method)
    (d1,) = torch.autograd.grad(again.sum(), x1)
    (without,) = torch.autograd.grad(allpairs_similarity(x1, x2, method=method).sum(), x1)
    assert torch.equal(found[0], expected[0]) and torch.equal(d1, without)
    if method in RELAXED:
        # The gradient too, where it is taken under autocast.
        assert torch.equal(found[1], expected[1]) and torch.equal(found[2], expected[2])


@pytest.mark.parametrize("lengths", [(256, 3), (257, 3), (3, 300), (40_000, 2), (2, 40_000)])
def test_places_in_long_texts(lengths):
    x1, _ = batch(0, 2, lengths[0], h=3)
    x2, _ = batch(1, 2, lengths[1], h=3)
    # The best partners of the short side stand last, where places are large.
    long, short = (x1, x2) if lengths[0] > lengths[1] else (x2, x1)
    long[:, -short.shape[1] :] = short.flip(0)[:, :] * 2
    masks = [torch.ones(x.shape[:2], dtype=torch.bool) for x in (x1, x2)]
    found = gradients(allpairs_similarity, x1, x2)
    for one, other in zip(found, gradients(dense, x1, x2, *masks, "rcmd"), strict=True):
        torch.testing.assert_close(one, other, atol=1e-14, rtol=1e-9)


def test_of_equal_cosines_the_first_counts():
    x1 = torch.tensor([[[1.0, 0.5]]]).requires_grad_()
    x2 = torch.tensor([[[1.0, 0.0], [2.0, 0.0], [1.0, 0.0]]]).requires_grad_()
    allpairs_similarity(x1, x2, method="rcmd1").sum().backward()
    assert (x2.grad[0, 0] != 0).any() and (x2.grad[0, 1:] == 0).all()


def saved(similarity):
    return similarity.grad_fn.saved_tensors


@pytest.mark.parametrize(
    ("length", "size"), [(8, 1), (256, 1), (257, 2), (2**15, 2), (2**15 + 1, 4)]
)
def test_one_byte_a_token_and_text_is_kept_for_the_gradient(length, size):
    x1, _ = batch(0, 3, length, h=1, dtype=torch.float32)
    x2, _ = batch(1, 5, 8, h=1, dtype=torch.float32)
    similarity = allpairs_similarity(x1.requires_grad_(), x2.requires_grad_())
    places = [part for part in saved(similarity) if not part.is_floating_point()]
    assert [(part.numel(), part.element_size()) for part in places] == [
        (3 * length * 5, 1),
        (3 * 5 * 8, size),
    ]
    # The tokens are those given, not a copy; the rest is one number per token.
    kept = [part for part in saved(similarity) if part.is_floating_point()]
    assert {part.data_ptr() for part in kept} >= {x1.data_ptr(), x2.data_ptr()}
    own = [part for part in kept if part.data_ptr() not in (x1.data_ptr(), x2.data_ptr())]
    assert sum(part.numel() for part in own) == 2 * (3 * length + 5 * 8)


def test_tokens_in_another_order_of_memory_get_their_gradient():
    x1, mask1 = batch(0, 4, 5, ragged=True)
    x2, mask2 = batch(1, 7, 3, ragged=True)
    expected = gradients(allpairs_similarity, x1, x2, mask1, mask2)

    def turned(a, b, *rest):
        a, b = a.transpose(0, 1).contiguous(), b.transpose(0, 2).contiguous()
        return allpairs_similarity(a.transpose(0, 1), b.transpose(0, 2), *rest)

    found = gradients(turned, x1, x2, mask1, mask2)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-14, rtol=1e-12)


@pytest.mark.parametrize("method", TRAINABLE)
@pytest.mark.parametrize("empty", [0, 1])
def test_no_texts_give_no_similarities(method, empty):
    x1, x2 = batch(0, 3, 4)[0], batch(1, 2, 5)[0]
    x1, x2 = (x1[:0], x2) if empty == 0 else (x1, x2[:0])
    found, d1, d2 = gradients(allpairs_similarity, x1, x2, None, None, method)
    assert found.shape == (len(x1), len(x2))
    assert d1.shape == x1.shape and d2.shape == x2.shape and not d1.any() and not d2.any()


@pytest.mark.parametrize("method", RELAXED)
def test_a_token_without_direction_has_cosine_0_and_no_gradient(method):
    x1, x2 = batch(0, 2, 3)[0], batch(1, 3, 4)[0]
    x1[0, 1], x2[2] = 0, 1e-13
    found, d1, d2 = gradients(allpairs_similarity, x1, x2, None, None, method)
    masks = [torch.ones(x.shape[:2], dtype=torch.bool) for x in (x1, x2)]
    zeros = x2.clone()
    zeros[2] = 0
    np.testing.assert_allclose(found, definition(x1, zeros, *masks, method), atol=1e-14)
    assert (found[:, 2] == 0).all()
    assert (d1[0, 1] == 0).all() and (d2[2] == 0).all() and (d2[0] != 0).any()


@pytest.mark.parametrize("method", TRAINABLE)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_broken_token_shows(method, value):
    x1, x2 = batch(0, 2, 3)[0], batch(1, 3, 4)[0]
    x1[1, 0, 2] = value
    found = allpairs_similarity(x1, x2, method=method)
    assert found[1].isnan().all() and found[0].isfinite().all()


@pytest.mark.parametrize("method", TRAINABLE[:-1])
@pytest.mark.parametrize("scale", [1e-30, 3e38])
def test_weights_are_in_any_scale(method, scale):
    x1, mask1 = batch(0, 4, 5, dtype=torch.float32)
    x2, mask2 = batch(1, 7, 3, dtype=torch.float32)
    weights1, weights2 = weights_of(mask1).float(), weights_of(mask2).float()
    expected = allpairs_similarity(x1, x2, None, None, method, weights1=weights1, weights2=weights2)
    # Each is a number of float32, their sum is not.
    scaled1, scaled2 = (w / w.max() * scale for w in (weights1, weights2))
    found = allpairs_similarity(x1, x2, None, None, method, weights1=scaled1, weights2=scaled2)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size", [1.0, 1e-7])
@pytest.mark.parametrize("ragged", [False, True])
def test_products_of_tokens_of_16_bits_are_as_exact_as_these_are(dtype, size, ragged, monkeypatch):
    x1, mask1 = batch(0, 9, 7, 48, dtype, ragged=ragged)
    x2, mask2 = batch(1, 11, 5, 48, dtype, ragged=ragged)
    x1[~mask1], x2[~mask2] = torch.nan, torch.inf
    weight = size * torch.randn(9, 11, generator=torch.Generator().manual_seed(2))

    def gradients():
        a, b = x1.float().requires_grad_(), x2.float().requires_grad_()
        found = allpairs_similarity(a.to(dtype), b.to(dtype), mask1, mask2, tile=200)
        (found * weight).sum().backward()
        return found.detach(), a.grad / size, b.grad / size

    expected = gradients()
    asked = []
    monkeypatch.setattr(module, "_has_short_products", lambda x: asked.append(x.dtype) or True)
    found = gradients()
    assert set(asked) == {dtype}
    torch.testing.assert_close(found[0], expected[0], atol=1e-6, rtol=0)
    for one, other in zip(found[1:], expected[1:], strict=True):
        # Of float16, gradients below 6e-8 are nothing in any case.
        if size == 1 or dtype == torch.bfloat16:
            assert (one - other).norm() < torch.finfo(dtype).eps * other.norm()
    if size == 1e-7:
        # The plan has 1e-9 of these, and is not lost on the way to the sums.
        monkeypatch.setattr(module, "through_unit", lambda d, u, scale: sums.append(d) or d)
        sums: list[torch.Tensor] = []
        gradients()
        assert all(
            (d != 0).any(dim=-1).sum() == mask.sum()
            for d, mask in zip(sums, (mask1, mask2), strict=True)
        )


def test_nothing_given_is_changed():
    x1, mask1 = batch(0, 4, 5, ragged=True)
    x2, mask2 = batch(1, 7, 3, ragged=True)
    weights1 = weights_of(mask1)
    given = x1, x2, mask1, mask2, weights1
    before = [part.clone() for part in given]
    a, b = x1.requires_grad_(), x2.requires_grad_()
    allpairs_similarity(a, b, mask1, mask2, weights1=weights1).sum().backward()
    assert all(torch.equal(one, other) for one, other in zip(given, before, strict=True))


def test_a_second_derivative_is_an_error():
    x, _ = batch(0, 2, 3)
    x.requires_grad_()
    (d,) = torch.autograd.grad(
        (allpairs_similarity(x, x.detach()) ** 2).sum(), x, create_graph=True
    )
    with pytest.raises(RuntimeError, match="differentiate twice"):
        d.sum().backward()


@pytest.mark.parametrize(
    ("is_cuda", "dtype", "version", "expected"),
    [
        (True, torch.bfloat16, "2.8.0", True),
        (True, torch.float16, "2.13.0+cu130", True),
        (True, torch.float16, "3.0.1", True),
        (True, torch.bfloat16, "2.7.1", False),
        (True, torch.float32, "2.8.0", False),
        (False, torch.bfloat16, "2.8.0", False),
    ],
)
def test_16_bits_are_multiplied_as_such_where_torch_can(
    is_cuda, dtype, version, expected, monkeypatch
):
    monkeypatch.setattr(torch, "__version__", version)
    assert module._has_short_products(SimpleNamespace(is_cuda=is_cuda, dtype=dtype)) is expected


@pytest.mark.parametrize("triton", [False, True])
@pytest.mark.parametrize("is_cuda", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_kernel_is_used_where_it_can_be(triton, is_cuda, dtype, monkeypatch):
    x = SimpleNamespace(is_cuda=is_cuda, dtype=dtype, shape=(1, 2, 3), device="somewhere")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object() if triton else None)
    possible = triton and is_cuda and dtype == torch.bfloat16
    assert module._uses_kernel(None, x) is possible
    assert module._uses_kernel(False, x) is False
    if possible:
        assert module._uses_kernel(True, x) is True
    else:
        with pytest.raises(ValueError, match="somewhere" + ("; " if triton else " and no Triton")):
            module._uses_kernel(True, x)


@pytest.mark.parametrize("method", TRAINABLE)
def test_the_kernel_gets_masses_that_add_up_to_the_plan(method, monkeypatch):
    x1, mask1 = batch(0, 4, 5, ragged=True)
    x2, mask2 = batch(1, 7, 3, ragged=True)
    asked = []
    places = torch.zeros(4, 5, 7, dtype=torch.uint8), torch.zeros(4, 7, 3, dtype=torch.uint8)
    stand_in = SimpleNamespace(
        fused_maxima=lambda *given: asked.append(given) or (torch.full((4, 7), 7.0), *places)
    )
    monkeypatch.setitem(sys.modules, "film.training.allpairs_kernel", stand_in)
    monkeypatch.setattr(module, "_uses_kernel", lambda *_: True)
    turned = x1.transpose(0, 1).contiguous().transpose(0, 1)
    found = allpairs_similarity(turned, x2, mask1, mask2, method)
    if method in ("avg", "cls"):
        assert not asked
        return
    of_means = allpairs_similarity(x1, x2, mask1, mask2, "avg")
    of_kernel = torch.full((4, 7), 7.0)
    assert torch.equal(found, (7 + of_means) / 2 if method == "rcmd+avg" else of_kernel)
    (((a, scale1, one, mass1), (b, scale2, other, mass2)),) = asked
    assert torch.equal(a, x1) and a.is_contiguous()
    assert torch.equal(b, x2) and torch.equal(one, mask1) and torch.equal(other, mask2)
    for x, mask, scale in ((x1, mask1, scale1), (x2, mask2, scale2)):
        torch.testing.assert_close(scale, mask / x.norm(dim=-1))
    share1, share2 = {"rcmd1": (1, 0), "rcmd2": (0, 1)}.get(method, (0.5, 0.5))
    for mass, mask, share in ((mass1, mask1, share1), (mass2, mask2, share2)):
        torch.testing.assert_close(mass, share * mask.double() / mask.sum(1, keepdim=True))
