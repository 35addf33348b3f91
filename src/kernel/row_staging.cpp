// kernel/row_staging.cpp: see row_staging.h.
#include "kernel/row_staging.h"

#include "kernel/nest.h"

#include "ir/symbolic.h"

#include <algorithm>

namespace weft::kernel {
namespace {

bool is_inside(const ir::Node& atom, const std::set<int>& inner) {
    return atom.op == ir::Op::LoopVar && inner.contains(atom.as<ir::LoopArg>().id);
}
bool is_outside(const ir::Node& atom, const std::set<int>& inner) {
    return std::ranges::none_of(inner, [&](int id) { return ir::depends_on(NodeRef(&atom), id); });
}

}  // namespace

StagedRows::StagedRows(const Kernel& kernel, Parts& parts, std::int64_t threads) : kernel_(kernel), threads_(threads) {
    collect(parts, {});
}

std::optional<StagedRow> StagedRows::row_of(int buffer) const {
    if (kernel_.buffers[static_cast<std::size_t>(buffer)].role == Buffer::Role::Local || !safe_.contains(buffer))
        return {};
    const auto found = loads_.find(buffer);
    if (found == loads_.end()) return {};
    std::set<const Part*> parts;
    for (const Loaded& load : found->second) parts.insert(load.part);
    if (parts.size() < 2) return {};
    return common_row(found->second);
}

std::vector<int> StagedRows::buffers() const {
    std::vector<int> all;
    for (const auto& [b, loads] : loads_) all.push_back(b);
    return all;
}

void StagedRows::collect(Parts& parts, const std::set<int>& inner) {
    for (Part& part : parts) {
        std::set<int> here = inner;
        if (part.kind == Part::Kind::Around) {
            here.insert(part.loop->id());
            collect(part.inside, here);
            continue;
        }
        for (const NodeRef& var : part.vars) here.insert(id_of(var));
        for (const NodeRef& load : uses_of(part.body).loads) {
            const int b = load->as<ir::LoadArg>().buffer;
            const bool plain = part.kind == Part::Kind::Shared && load->sources.size() == 1 && !stored_.contains(b);
            if (loads_[b].empty()) safe_.insert(b);
            if (!plain) safe_.erase(b);
            loads_[b].push_back({&part, load, here});
        }
        for (const int b : stored_in_body(part.body)) stored_.insert(b);
    }
}

std::optional<StagedRow> StagedRows::common_row(const std::vector<Loaded>& loads) const {
    std::map<const ir::Node*, std::int64_t> base;
    std::vector<LinearForm> places;
    std::int64_t low = INT64_MAX, high = INT64_MIN;
    for (const Loaded& loaded : loads) {
        const LinearForm index = linear_form(*loaded.load->sources[0]);
        if (!index.exact) return {};
        LinearForm place;
        place.constant = index.constant;
        std::map<const ir::Node*, std::int64_t> outside;
        std::int64_t least = index.constant, most = index.constant;
        for (const LinearForm::Term& term : index.terms) {
            if (!is_inside(*term.atom, loaded.inner)) {
                if (!is_outside(*term.atom, loaded.inner)) return {};
                outside[term.atom] = term.factor;
                continue;
            }
            const std::int64_t last = term.atom->as<ir::LoopArg>().extent - 1;
            least += std::min<std::int64_t>(0, term.factor * last);
            most += std::max<std::int64_t>(0, term.factor * last);
            place.terms.push_back(term);
        }
        if (!places.empty() && outside != base) return {};
        base = std::move(outside);
        places.push_back(std::move(place));
        low = std::min(low, least);
        high = std::max(high, most);
    }
    return made(loads, base, places, low, high - low + 1);
}

std::optional<StagedRow> StagedRows::made(const std::vector<Loaded>& loads,
                                          const std::map<const ir::Node*, std::int64_t>& base,
                                          const std::vector<LinearForm>& places, std::int64_t low,
                                          std::int64_t length) const {
    StagedRow row;
    row.length = length;
    row.base = kernel_.index(low);
    for (const auto& [atom, factor] : base)
        row.base = kernel_.add(row.base, kernel_.mul(NodeRef(atom), kernel_.index(factor)));
    row.base = ir::simplify_index(*kernel_.interner, row.base);
    for (std::size_t i = 0; i < loads.size(); ++i) {
        NodeRef place = kernel_.index(places[i].constant - low);
        for (const LinearForm::Term& term : places[i].terms)
            place = kernel_.add(place, kernel_.mul(NodeRef(term.atom), kernel_.index(term.factor)));
        place = ir::simplify_index(*kernel_.interner, place);
        const auto first = own_place(kernel_, place, loads[i].part->vars, threads_);
        row.own = row.own && first && first == loads[i].part->first.value_or(*first);
        row.places[loads[i].load.get()] = std::move(place);
    }
    return row;
}

void stage_row(Kernel& kernel, Parts& parts, int buffer, std::int64_t threads, std::set<int>& owned) {
    const std::optional<StagedRow> row = StagedRows(kernel, parts, threads).row_of(buffer);
    if (!row) return;
    const DType t = kernel.buffers[static_cast<std::size_t>(buffer)].dtype;
    const int local = kernel.new_local("staged", t, row->length);
    for_each_part(parts, [&](Part& part) {
        if (part.kind != Part::Kind::Shared) return;
        part.body = with_loads(kernel, part.body, [&](const ir::Node& load, const ir::Sources&) -> NodeRef {
            const auto found = row->places.find(&load);
            return found == row->places.end() ? nullptr : kernel.load(local, found->second);
        });
    });
    const NodeRef n = kernel.new_var(row->length);
    Body copied{Store{local, n, kernel.load(buffer, kernel.add(row->base, n))}};
    parts.insert(parts.begin(), Part{.kind = Part::Kind::Shared, .body = std::move(copied), .vars = {n}, .first = 0});
    if (!row->own) return;
    owned.insert(local);
    for_each_part(parts, [&](Part& part) {
        for (const NodeRef& load : uses_of(part.body).loads)
            if (load->as<ir::LoadArg>().buffer == local)
                part.first = own_place(kernel, load->sources[0], part.vars, threads);
    });
}

}  // namespace weft::kernel
