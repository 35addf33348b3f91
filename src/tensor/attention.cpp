// tensor/attention.cpp: attention, made of two products and a softmax.
#include "tensor/activations_softmax.h"
#include "tensor/cell.h"
#include "tensor/check.h"

#include <weft/ops.h>

#include <cmath>

namespace weft {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What is masked: `hidden` (bools) counts nothing, `added` is added to the scores. Either may be undefined.
struct Masks {
    Tensor hidden, added;

    void add(const Tensor& mask) {
        Tensor& place = is_bool(mask.dtype()) ? hidden : added;
        if (!place.defined()) place = mask;
        else place = is_bool(mask.dtype()) ? logical_or(place, mask) : place + mask;
    }
};

Tensor masked_scores(const Tensor& query, const Tensor& key, double scale, const Masks& masks) {
    Tensor scores = matmul(query, key.transpose(-2, -1)) * scale;
    if (masks.added.defined()) scores = scores + masks.added.to(scores.dtype());
    if (masks.hidden.defined()) scores = where(masks.hidden, -kInfinity, scores);
    return scores;
}

// Query i sees the keys 0 … i: what it does not see.
Tensor later_keys(std::int64_t queries, std::int64_t keys) { return gt(arange(keys), arange(queries).unsqueeze(1)); }

void check_mask(const Checker& check, const Tensor& mask, const Tensor& like, std::string_view name) {
    check.dtype(is_bool(mask.dtype()) || is_float(mask.dtype()), name, " must be of bools or floats, not ",
                mask.dtype());
    check.dtype(is_float(like.dtype()), "the query must be a float tensor, not ", like.dtype());
}

double default_scale(const Tensor& query) { return 1 / std::sqrt(static_cast<double>(query.size(-1))); }

// Attention of q […, L, E], in the type that it is computed in. Weights of halves are halves, for the second product.
struct Attention {
    Tensor q, k, v;
    DType type = DType::F32;  // of the inputs
    Masks masks;
    double scale = 1, dropout = 0;
    bool causal = false, may_see_nothing = false;

    Tensor result() const {
        Masks own = masks;
        if (causal) own.add(later_keys(q.size(-2), k.size(-2)));
        const Tensor scores = masked_scores(q, k, scale, own);
        const Tensor weights = weft::dropout(may_see_nothing ? masked_softmax(scores) : softmax(scores, -1), dropout);
        return matmul(weights.to(type).to(v.dtype()), v);
    }
};

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
    const Checker check("scaled_dot_product_attention",
                        {{"query", query}, {"key", key}, {"value", value}, {"attn_mask", options.mask, kOptional}});
    check.that(query.rank() >= 2 && key.rank() >= 2 && value.rank() >= 2,
               "query, key and value must have two axes at least");
    check.that(query.size(-1) == key.size(-1), "query's last size ", query.size(-1), " must equal key's ",
               key.size(-1));
    check.that(key.size(-2) == value.size(-2), "key has ", key.size(-2), " entries, value has ", value.size(-2));
    check.value(!options.is_causal || !options.mask.defined(), "is_causal is a mask of its own; give only one");
    check.dtype(query.dtype() == key.dtype() && key.dtype() == value.dtype() && is_float(query.dtype()),
                "query, key and value must be floats of one type");
    Masks masks;
    if (options.mask.defined()) {
        check_mask(check, options.mask, query, "attn_mask");
        masks.add(is_bool(options.mask.dtype()) ? logical_not(options.mask) : options.mask);
    }
    const DType wide = accumulator_of(query.dtype());  // f16 and bf16: sums are f32
    Tensor q = query.to(wide), k = key.to(wide), v = value.to(wide);
    const std::int64_t shared = options.enable_gqa && q.rank() >= 3 ? k.size(-3) : 0;
    const bool grouped = shared != 0 && shared != q.size(-3);
    if (grouped) {  // [.., heads, L, E] as [.., shared, heads / shared, L, E], against [.., shared, 1, S, E]
        check.that(k.rank() >= 3 && v.rank() >= 3 && v.size(-3) == shared, "key and value must have the same heads");
        check.that(q.size(-3) % shared == 0, "the ", q.size(-3), " heads of query cannot share ", shared);
        Shape shape = q.shape();
        shape[shape.size() - 3] /= shared;
        shape.insert(shape.end() - 3, shared);
        q = q.reshape(shape), k = k.unsqueeze(-3), v = v.unsqueeze(-3);
        const auto split = [&](Tensor& mask) {
            if (!mask.defined() || mask.rank() < 3) return;
            Shape sizes = mask.shape();
            const bool one = sizes[sizes.size() - 3] == 1;
            if (!one) sizes[sizes.size() - 3] /= shared;
            sizes.insert(sizes.end() - 3, one ? 1 : shared);
            mask = mask.reshape(sizes);
        };
        split(masks.hidden), split(masks.added);
    }
    // Only a mask of the caller's can hide everything from a query.
    const Attention attention{.q = q,
                              .k = k,
                              .v = v,
                              .type = query.dtype(),
                              .masks = masks,
                              .scale = options.scale.value_or(default_scale(q)),
                              .dropout = options.dropout,
                              .causal = options.is_causal,
                              .may_see_nothing = options.mask.defined()};
    const Tensor result = attention.result().to(query.dtype());
    if (!grouped) return result;
    Shape shape = result.shape();
    shape.erase(shape.end() - 4);
    shape[shape.size() - 3] *= shared;
    return result.reshape(shape);
}

// ---- several heads ---------------------------------------------------------------------------------------------------

namespace {

struct Projected {
    Tensor query, key, value;  // [L, n, embed], [S, n, embed], [S, n, embed]
};

Projected project(const Tensor& query, const Tensor& key, const Tensor& value, bool same, const MultiheadWeights& w,
                  std::int64_t embed) {
    const auto part = [&](const Tensor& all, int i) { return all.defined() ? all.narrow(0, i * embed, embed) : all; };
    if (!w.in_proj.defined())
        return {linear(query, w.query, part(w.in_bias, 0)), linear(key, w.key, part(w.in_bias, 1)),
                linear(value, w.value, part(w.in_bias, 2))};
    if (!same)
        return {linear(query, part(w.in_proj, 0), part(w.in_bias, 0)),
                linear(key, part(w.in_proj, 1), part(w.in_bias, 1)),
                linear(value, part(w.in_proj, 2), part(w.in_bias, 2))};
    const Tensor all = linear(query, w.in_proj, w.in_bias);  // one product for the three
    return {all.narrow(-1, 0, embed), all.narrow(-1, embed, embed), all.narrow(-1, 2 * embed, embed)};
}

Tensor one_more_key(const Tensor& mask) {  // which is not masked
    return pad(mask, {0, 1}, is_bool(mask.dtype()) ? Scalar(false) : Scalar(0.0));
}

}  // namespace

MultiheadResult multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t heads,
                                     const MultiheadWeights& weights, const MultiheadOptions& options) {
    const Checker check("multi_head_attention", {{"query", query},
                                                 {"key", key},
                                                 {"value", value},
                                                 {"key_padding_mask", options.key_padding_mask, kOptional},
                                                 {"attn_mask", options.attn_mask, kOptional}});
    const bool batched = query.rank() == 3;
    check.that((batched || query.rank() == 2) && key.rank() == query.rank() && value.rank() == query.rank(),
               "query, key and value must all be [length, n, features] or all [length, features]");
    const std::int64_t embed = query.size(-1), examples = batched ? query.size(1) : 1, count = query.size(0);
    check.value(heads > 0 && embed % heads == 0, "embed_dim ", embed, " cannot be divided into ", heads, " heads");
    check.that(!batched || (key.size(1) == examples && value.size(1) == examples), "the batches differ");
    check.that(key.size(0) == value.size(0), "key has ", key.size(0), " entries, value has ", value.size(0));
    check.value(!options.is_causal || options.attn_mask.defined(),
                "is_causal is a hint about attn_mask, which is missing");
    const bool same = query.cell() == key.cell() && key.cell() == value.cell();
    const auto with_batch = [&](const Tensor& x) { return batched ? x : x.unsqueeze(1); };
    auto [q, k, v] = project(with_batch(query), with_batch(key), with_batch(value), same, weights, embed);

    const std::int64_t keys = key.size(0);
    Tensor attn_mask = options.attn_mask, padding_mask = options.key_padding_mask;
    if (attn_mask.defined()) {
        check_mask(check, attn_mask, query, "attn_mask");
        const bool fits =
            attn_mask.shape() == Shape{count, keys} || attn_mask.shape() == Shape{examples * heads, count, keys};
        check.that(fits, "attn_mask must be [", count, ", ", keys, "] or [", examples * heads, ", ", count, ", ", keys,
                   "]");
    }
    if (padding_mask.defined()) {
        check_mask(check, padding_mask, query, "key_padding_mask");
        if (!batched && padding_mask.rank() == 1) padding_mask = padding_mask.unsqueeze(0);
        check.that(padding_mask.shape() == Shape{examples, keys}, "key_padding_mask must be [", examples, ", ", keys,
                   "]");
    }
    const auto append = [&](const Tensor& more_keys, const Tensor& more_values) {
        k = cat({k, more_keys.expand({1, examples, embed})});
        v = cat({v, more_values.expand({1, examples, embed})});
        if (attn_mask.defined()) attn_mask = one_more_key(attn_mask);
        if (padding_mask.defined()) padding_mask = one_more_key(padding_mask);
    };
    if (weights.bias_key.defined()) append(weights.bias_key, weights.bias_value);
    if (options.add_zero_attn) append(zeros({1, 1, embed}, k.dtype()), zeros({1, 1, embed}, k.dtype()));
    Masks masks;
    if (attn_mask.defined())
        masks.add(attn_mask.rank() == 3 ? attn_mask.reshape({examples, heads, count, -1}) : attn_mask);
    if (padding_mask.defined()) masks.add(padding_mask.reshape({examples, 1, 1, -1}));

    const auto in_heads = [&](const Tensor& x) {  // [length, n, embed] to [n, heads, length, embed / heads]
        return x.reshape({x.size(0), examples, heads, embed / heads}).permute({1, 2, 0, 3});
    };
    const Tensor by_head = in_heads(q);
    const Tensor scores = masked_scores(by_head, in_heads(k), default_scale(by_head), masks);
    // As in PyTorch, a query that sees nothing gets NaN where the weights are asked for, and else zeros.
    Tensor seen = options.need_weights ? softmax(scores, -1) : masked_softmax(scores);
    seen = dropout(seen, options.dropout);
    const Tensor joined = matmul(seen, in_heads(v)).permute({2, 0, 1, 3}).reshape({count, examples, embed});
    const Tensor output = linear(joined, weights.out, weights.out_bias);
    if (!options.need_weights) return {batched ? output : output.squeeze(1), {}};
    const Tensor shown = options.average_attn_weights ? seen.mean(1) : seen;
    return {batched ? output : output.squeeze(1), batched ? shown : shown.squeeze(0)};
}

}  // namespace weft
