// data/data_loader.cpp: the batches of weft/data_loader.h, as slices or as rows picked by a part of one permutation.
#include <weft/data_loader.h>
#include <weft/error.h>
#include <weft/ops.h>
#include <weft/profile.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace weft::data {

TensorDataset::TensorDataset(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
    if (tensors_.empty()) throw ValueError("TensorDataset(): there must be a tensor at least");
    for (const Tensor& tensor : tensors_)
        if (tensor.rank() == 0 || tensors_[0].rank() == 0 || tensor.size(0) != tensors_[0].size(0))
            throw ShapeError("TensorDataset(): the tensors have the shapes " + to_string(tensors_[0].shape()) +
                             " and " + to_string(tensor.shape()) + ", of which the first sizes must be equal");
}

std::vector<Tensor> TensorDataset::rows(std::int64_t from, std::int64_t to) const {
    std::vector<Tensor> result;
    for (const Tensor& tensor : tensors_) result.push_back(tensor[{Slice{from, to}}]);
    return result;
}

std::vector<Tensor> TensorDataset::rows(const Tensor& chosen) const {
    std::vector<Tensor> result;
    for (const Tensor& tensor : tensors_) result.push_back(index_select(tensor, 0, chosen));
    return result;
}

std::vector<TensorDataset> random_split(const TensorDataset& dataset, const std::vector<std::int64_t>& lengths,
                                        std::shared_ptr<Generator> generator) {
    for (const std::int64_t length : lengths)
        if (length < 0) throw ValueError("random_split(): the length " + std::to_string(length) + " is negative");
    const std::int64_t sum = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    if (sum != dataset.size())
        throw ValueError("random_split(): the lengths add up to " + std::to_string(sum) + ", the data set has " +
                         std::to_string(dataset.size()) + " rows");
    const GeneratorScope scope(std::move(generator));
    const Tensor order = randperm(dataset.size());
    std::vector<TensorDataset> parts;
    std::int64_t start = 0;
    for (const std::int64_t length : lengths) {
        parts.emplace_back(dataset.rows(order[{Slice{start, start + length}}]));
        start += length;
    }
    return parts;
}

DataLoader::DataLoader(TensorDataset dataset, Options options)
    : dataset_(std::move(dataset)), options_(std::move(options)) {
    if (options_.batch_size < 1)
        throw ValueError("DataLoader(): batch_size must be at least 1, not " + std::to_string(options_.batch_size));
}

std::int64_t DataLoader::size() const {
    const std::int64_t rows = dataset_.size(), batch = options_.batch_size;
    return options_.drop_last ? rows / batch : (rows + batch - 1) / batch;
}

DataLoader::Iterator::Iterator(const DataLoader& loader) : loader_(&loader) {
    if (!loader.options_.shuffle) return;
    const GeneratorScope scope(loader.options_.generator);
    order_.push_back(randperm(loader.dataset_.size()));
}

std::vector<Tensor> DataLoader::Iterator::operator*() const {
    const ProfileRegion region("next batch", Profile::Event::Data);
    const std::int64_t from = batch_ * loader_->options_.batch_size;
    const std::int64_t to = std::min(from + loader_->options_.batch_size, loader_->dataset_.size());
    return order_.empty() ? loader_->dataset_.rows(from, to) : loader_->dataset_.rows(order_[0][{Slice{from, to}}]);
}

}  // namespace weft::data
