// io/pt.h: the parts of a .pt file around its pickle.
#pragma once

#include "io/pickle.h"

namespace weft::io {

// Which globals a file may name, and how tensors are built from the calls that it makes of them.
class TorchHost : public PickleHost {
public:
    TorchHost(ErrorContext context, const ObjectOptions& options) : context_(std::move(context)), options_(options) {}

    bool allowed(const std::string& name) override;
    Ref persistent(Objects& objects, Ref id) override;
    std::optional<Ref> call(Objects& objects, const std::string& name, const std::vector<Ref>& arguments) override;

    struct Storage {
        std::string key;
        std::string location;  // the device that it was on: "cpu", "cuda:0"
        DType dtype = u8;
        std::int64_t count = 0;
        bool bytes = false;  // elements of any type
    };
    const std::vector<Storage>& storages() const { return storages_; }

    // Fills in the tensors, once their memory is known: memory(i) is that of storage i. Their texts are the devices that they were on.
    void build_tensors(Objects& objects, const std::function<Bytes(std::size_t storage)>& memory);

private:
    struct Pending {
        Ref object;
        std::size_t storage;
        DType dtype;
        Shape shape;
        Dims strides;
        std::int64_t offset;
        bool requires_grad;
    };
    [[noreturn]] void damaged(const std::string& what) const { context_.fail("it is damaged: " + what); }
    void refuse_call(const std::string& name) const;
    Ref tensor(Objects& objects, const std::vector<Ref>& arguments, bool typed);
    Ref parameter(Objects& objects, const std::vector<Ref>& arguments);
    std::optional<Ref> typed_tensor(Objects& objects, const std::vector<Ref>& arguments);
    std::optional<Ref> own_tensor(Objects& objects, const std::vector<Ref>& arguments);
    std::optional<Ref> encoded_bytes(Objects& objects, const std::vector<Ref>& arguments);
    DType element_type(const Object& object) const;
    Dims sizes(const Objects& objects, Ref ref) const;
    Bytes held(const Bytes& bytes) const;  // the file's memory, or a copy of it
    void build_storage(Objects& objects, const Bytes& bytes, const std::vector<const Pending*>& users);

    ErrorContext context_;
    const ObjectOptions& options_;
    std::vector<Storage> storages_;
    std::unordered_map<std::string, std::size_t> by_key_;
    std::unordered_map<Ref, std::size_t> storage_at_;
    std::vector<Pending> pending_;
};

}  // namespace weft::io
