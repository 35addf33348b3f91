// weft/data_loader.h: batches of tensors. Nothing is copied before a kernel reads it: the rows of a batch are picked by the kernels that
// use them, so there is nothing for other threads to prepare.
#pragma once

#include <weft/api.h>
#include <weft/random.h>
#include <weft/tensor.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

namespace WEFT_API weft {
namespace data {

// Tensors of the same first size. Example i is row i of each.
class TensorDataset {
public:
    explicit TensorDataset(std::vector<Tensor> tensors);

    std::int64_t size() const { return tensors_[0].size(0); }
    const std::vector<Tensor>& tensors() const { return tensors_; }
    std::vector<Tensor> rows(std::int64_t from, std::int64_t to) const;  // views
    std::vector<Tensor> rows(const Tensor& chosen) const;                // chosen: i64[n]

private:
    std::vector<Tensor> tensors_;
};

// Cuts a data set into parts of these lengths, which add up to its size, at random.
//
//     const auto parts = data::random_split(digits, {1500, 297});
std::vector<TensorDataset> random_split(const TensorDataset& dataset, const std::vector<std::int64_t>& lengths,
                                        std::shared_ptr<Generator> generator = nullptr);

// Goes over a data set in batches: in order, or in a new random order each time it is gone over.
//
//     data::DataLoader loader(data::TensorDataset({images, labels}), {.batch_size = 128, .shuffle = true});
//     for (const std::vector<Tensor>& batch : loader) step(batch[0], batch[1]);
class DataLoader {
public:
    struct Options {
        std::int64_t batch_size = 1;
        bool shuffle = false;
        bool drop_last = false;                          // leaves out a last batch that is not full
        std::shared_ptr<Generator> generator = nullptr;  // of the order; nullptr: the global one
    };

    DataLoader(TensorDataset dataset, Options options);

    std::int64_t size() const;  // the number of batches
    const TensorDataset& dataset() const { return dataset_; }

    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = std::vector<Tensor>;
        using difference_type = std::ptrdiff_t;

        std::vector<Tensor> operator*() const;
        Iterator& operator++() { return ++batch_, *this; }
        void operator++(int) { ++batch_; }
        bool operator==(std::default_sentinel_t) const { return batch_ == loader_->size(); }

    private:
        friend DataLoader;
        explicit Iterator(const DataLoader& loader);
        const DataLoader* loader_;
        std::vector<Tensor> order_;  // one, or none: as the rows lie
        std::int64_t batch_ = 0;
    };
    Iterator begin() const { return Iterator(*this); }
    std::default_sentinel_t end() const { return {}; }

private:
    TensorDataset dataset_;
    Options options_;
};

}  // namespace data
}  // namespace weft
