// examples/cpp/gpt2.cpp: GPT-2 from a safetensors file, by the names of the model hubs: goes on with a text, the likeliest word each time.
//
//     example_gpt2 FOLDER [--prompt TEXT] [--length N]     with model.safetensors, vocab.json and merges.txt
//     example_gpt2 --short                                 a small model with weights by chance, saved and loaded; numbers for words
#include <weft/io.h>
#include <weft/weft.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

using namespace weft;

namespace {

// ---- the model -------------------------------------------------------------------------------------------------------

class Gpt2 {
public:
    explicit Gpt2(const io::NamedTensors& file) {
        constexpr std::string_view kPrefix = "transformer.";
        for (const auto& [name, value] : file)
            weights_.emplace(name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name, value);
        while (weights_.contains("h." + std::to_string(layers_) + ".ln_1.weight")) ++layers_;
        width_ = at("wte.weight").size(1);
        heads_ = std::max<std::int64_t>(1, width_ / 64);  // as wide in all of GPT-2's sizes
    }

    // Goes on with some tokens until there are `length` of them. The cache has one size for all steps, so that one plan serves them.
    std::vector<std::int64_t> generate(std::vector<std::int64_t> tokens, std::int64_t length) {
        const NoGrad no_gradients;
        length = std::min(length, at("wpe.weight").size(0));
        for (int i = 0; i < 2 * layers_; ++i) cache_.push_back(zeros({1, heads_, length, width_ / heads_}).realize());
        Tensor next = as_ids(tokens);
        for (std::int64_t first = 0; static_cast<std::int64_t>(tokens.size()) < length;) {
            const Tensor logits = step(next, as_ids({first})[0]);
            first += next.size(1);
            tokens.push_back(argmax(logits, -1).to_vector<std::int64_t>()[0]);
            next = as_ids({tokens.back()});
        }
        cache_.clear();
        return tokens;
    }

    // What comes next after each token, all at once.
    Tensor logits(const std::vector<std::int64_t>& tokens) { return step(as_ids(tokens), {}); }

private:
    static Tensor as_ids(const std::vector<std::int64_t>& tokens) {
        return from_data(tokens, {1, static_cast<std::int64_t>(tokens.size())});
    }
    const Tensor& at(const std::string& name) const {
        const auto found = weights_.find(name);
        if (found == weights_.end()) throw IoError("gpt2: the file has no tensor '" + name + "'");
        return found->second;
    }
    Tensor dense(const Tensor& x, const std::string& name) const {
        return matmul(x, at(name + ".weight")) + at(name + ".bias");
    }
    Tensor norm(const Tensor& x, const std::string& name) const {
        return layer_norm(x, {width_}, at(name + ".weight"), at(name + ".bias"));
    }

    // Without `first` all tokens at once; with it, tokens that stand there and behind it, and the result is that of the last.
    Tensor step(const Tensor& ids, const Tensor& first) {
        const std::int64_t length = ids.size(1);
        const Tensor places = first.defined() ? first + arange(length) : arange(length);
        Tensor x = embedding(at("wte.weight"), ids) + embedding(at("wpe.weight"), places);
        for (int i = 0; i < layers_; ++i) {
            const std::string name = "h." + std::to_string(i);
            x = x + dense(attention(dense(norm(x, name + ".ln_1"), name + ".attn.c_attn"), i, places, first.defined()),
                          name + ".attn.c_proj");
            x = x +
                dense(gelu(dense(norm(x, name + ".ln_2"), name + ".mlp.c_fc"), GeluForm::Tanh), name + ".mlp.c_proj");
        }
        if (first.defined()) x = x.narrow(1, length - 1, 1);
        return matmul(norm(x, "ln_f"), at("wte.weight").t());
    }

    Tensor attention(const Tensor& projected, int layer, const Tensor& places, bool cached) {
        const std::int64_t length = projected.size(1);
        std::vector<Tensor> parts = chunk(projected, 3, -1);
        for (Tensor& part : parts) part = part.reshape({1, length, heads_, width_ / heads_}).transpose(1, 2);
        AttentionOptions options{.is_causal = !cached};
        if (cached) {
            for (int i = 0; i < 2; ++i) {
                Tensor& cache = cache_[2 * layer + i];
                cache.assign(index_copy(cache, 2, places, parts[i + 1]));
                parts[i + 1] = cache;
            }
            options.mask = arange(cache_[0].size(2)) <= places.unsqueeze(1);
        }
        return scaled_dot_product_attention(parts[0], parts[1], parts[2], options)
            .transpose(1, 2)
            .reshape({1, length, width_});
    }

    std::map<std::string, Tensor> weights_;
    std::vector<Tensor> cache_;  // keys and values, layer by layer
    std::int64_t width_ = 0, heads_ = 1;
    int layers_ = 0;
};

// ---- words -----------------------------------------------------------------------------------------------------------

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw IoError("gpt2: " + path.string() + " cannot be read");
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string utf8(unsigned code) {
    if (code < 0x80) return {static_cast<char>(code)};
    return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

// Byte-level byte pair encoding. A byte that is no visible letter stands in the files as a letter from U+0100 on.
class Words {
public:
    explicit Words(const std::filesystem::path& folder) {
        for (int byte = 0, other = 256; byte < 256; ++byte) {
            const bool visible = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
            letters_[byte] = utf8(static_cast<unsigned>(visible ? byte : other++));
            bytes_[letters_[byte]] = static_cast<char>(byte);
        }
        read_vocabulary(read(folder / "vocab.json"));
        std::string merges = read(folder / "merges.txt");
        for (std::size_t at = merges.find('\n') + 1, end; at < merges.size(); at = end + 1) {
            end = std::min(merges.find('\n', at), merges.size());
            const std::string line = merges.substr(at, end - at);
            if (const std::size_t gap = line.find(' '); gap != std::string::npos)
                ranks_.emplace(std::pair(line.substr(0, gap), line.substr(gap + 1)), ranks_.size());
        }
    }

    std::vector<std::int64_t> encode(std::string_view text) const {
        std::vector<std::int64_t> ids;
        const auto kind = [](char c) {
            const auto byte = static_cast<unsigned char>(c);
            return std::isspace(byte) ? 0 : std::isalpha(byte) || byte >= 128 ? 1 : std::isdigit(byte) ? 2 : 3;
        };
        for (std::size_t at = 0, end; at < text.size(); at = end) {  // a word with the space before it
            end = at + 1;
            if (kind(text[at]) == 0 && end < text.size()) ++end;
            while (end < text.size() && kind(text[end]) == kind(text[end - 1])) ++end;
            for (const std::string& part : merged(text.substr(at, end - at))) {
                const auto found = numbers_.find(part);
                if (found == numbers_.end()) throw IoError("gpt2: vocab.json has no '" + part + "'");
                ids.push_back(found->second);
            }
        }
        return ids;
    }

    std::string decode(const std::vector<std::int64_t>& ids) const {
        std::string text;
        for (const std::int64_t id : ids) {
            const std::string& part = names_.at(id);
            for (std::size_t at = 0, size; at < part.size(); at += size) {
                size = static_cast<unsigned char>(part[at]) < 0x80 ? 1 : 2;
                text += bytes_.at(part.substr(at, size));
            }
        }
        return text;
    }

private:
    // {"word": 17, "\u0120word": 18, …}
    void read_vocabulary(const std::string& json) {
        for (std::size_t at = json.find('"'); at != std::string::npos; at = json.find('"', at)) {
            std::string word;
            for (++at; at < json.size() && json[at] != '"'; ++at) {
                if (json[at] != '\\') word += json[at];
                else if (json[++at] == 'u')
                    word += utf8(static_cast<unsigned>(std::stoul(json.substr(at + 1, 4), nullptr, 16))), at += 4;
                else word += json[at];
            }
            const std::size_t colon = json.find(':', at);
            if (colon == std::string::npos) throw IoError("gpt2: vocab.json ends early");
            const std::int64_t number = std::atoll(json.c_str() + colon + 1);
            numbers_[word] = number;
            names_[number] = word;
            at = colon;
        }
    }

    std::vector<std::string> merged(std::string_view word) const {
        std::vector<std::string> parts;
        for (const char c : word) parts.push_back(letters_[static_cast<unsigned char>(c)]);
        while (true) {
            std::size_t best = ranks_.size(), place = 0;
            for (std::size_t i = 0; i + 1 < parts.size(); ++i)
                if (const auto found = ranks_.find({parts[i], parts[i + 1]});
                    found != ranks_.end() && found->second < best)
                    best = found->second, place = i;
            if (best == ranks_.size()) return parts;
            parts[place] += parts[place + 1];
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(place) + 1);
        }
    }

    std::string letters_[256];
    std::unordered_map<std::string, char> bytes_;
    std::unordered_map<std::string, std::int64_t> numbers_;
    std::unordered_map<std::int64_t, std::string> names_;
    std::map<std::pair<std::string, std::string>, std::size_t> ranks_;
};

// ---- the program -----------------------------------------------------------------------------------------------------

io::NamedTensors by_chance() {
    constexpr std::int64_t kWidth = 64;
    manual_seed(0);
    io::NamedTensors state{{"wte.weight", randn({61, kWidth}) * 0.3}, {"wpe.weight", randn({24, kWidth}) * 0.3}};
    const auto add = [&](const std::string& name, const Shape& shape, double around) {
        state.emplace_back(name + ".weight", randn(shape) * 0.2 + around);
        state.emplace_back(name + ".bias", randn({shape.back()}) * 0.1);
    };
    for (const std::string layer : {"h.0.", "h.1."}) {
        add(layer + "ln_1", {kWidth}, 1), add(layer + "ln_2", {kWidth}, 1);
        add(layer + "attn.c_attn", {kWidth, 3 * kWidth}, 0), add(layer + "attn.c_proj", {kWidth, kWidth}, 0);
        add(layer + "mlp.c_fc", {kWidth, 4 * kWidth}, 0), add(layer + "mlp.c_proj", {4 * kWidth, kWidth}, 0);
    }
    add("ln_f", {kWidth}, 1);
    return state;
}

// Does the cache give what all tokens at once give?
int run_short() {
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("weft_gpt2_" + std::to_string(std::rand()) + ".safetensors");
    io::save_safetensors(by_chance(), path);
    Gpt2 model(io::load_safetensors(path));
    const std::vector<std::int64_t> tokens = model.generate({1, 2, 3}, 16);
    const std::vector<std::int64_t> expected = argmax(model.logits(tokens), -1).to_vector<std::int64_t>();
    std::filesystem::remove(path);
    bool same = tokens.size() == 16;
    for (std::size_t i = 3; i < tokens.size(); ++i) same = same && tokens[i] == expected[i - 1];
    for (const std::int64_t token : tokens) std::printf("%d ", static_cast<int>(token));
    std::printf("\n");
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

int run(const std::filesystem::path& folder, const std::string& prompt, std::int64_t length) {
    Gpt2 model(io::load_safetensors(folder / "model.safetensors"));
    const Words words(folder);
    const std::vector<std::int64_t> start = words.encode(prompt);
    const std::string text = words.decode(model.generate(start, static_cast<std::int64_t>(start.size()) + length));
    std::printf("%s\n", text.c_str());
    return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        std::string folder, prompt = "Once upon a time";
        std::int64_t length = 50;
        for (int i = 1; i < argc; ++i) {
            const std::string_view word = argv[i];
            if (word == "--short") return run_short();
            if (word == "--prompt" && i + 1 < argc) prompt = argv[++i];
            else if (word == "--length" && i + 1 < argc) length = std::max(1, std::atoi(argv[++i]));
            else folder = word;
        }
        if (folder.empty() || folder.starts_with("-"))
            return std::fprintf(stderr, "usage: example_gpt2 FOLDER [--prompt TEXT] [--length N] | --short\n"),
                   EXIT_FAILURE;
        return run(folder, prompt, length);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gpt2: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
