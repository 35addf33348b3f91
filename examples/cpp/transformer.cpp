// examples/cpp/transformer.cpp: a small transformer learns some of Shakespeare's sonnets letter by letter, and then writes.
//
//     example_transformer [--steps N] [--short]
#include <weft/weft.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

using namespace weft;

namespace {

constexpr std::int64_t kContext = 64;

struct Size {
    std::int64_t width = 96, heads = 4;
    int layers = 2;
};

struct Writer : nn::Module {
    nn::Embedding letter, place;
    nn::TransformerEncoder blocks;
    nn::Linear out;
    Tensor future = triu(ones({kContext, kContext}, bool_), 1);  // true where a letter must not look

    Writer(std::int64_t letters, const Size& size)
        : letter(letters, size.width),
          place(kContext, size.width),
          blocks(size.width, size.heads, size.layers,
                 {.dim_feedforward = 4 * size.width,
                  .activation = [](const Tensor& x) { return gelu(x); },
                  .batch_first = true,
                  .norm_first = true},
                 true),
          out(size.width, letters) {
        child("letter", letter), child("place", place), child("blocks", blocks), child("out", out);
    }
    Tensor forward(
        const Tensor& ids) override {  // [n, context] -> [n, context, letters]: what comes next, at each place
        return out(blocks(letter(ids) + place(arange(0, kContext)), {.mask = future, .is_causal = true}));
    }
};

class Alphabet {
public:
    explicit Alphabet(const std::string& text) {
        const std::set<char> different(text.begin(), text.end());
        letters_.assign(different.begin(), different.end());
    }
    std::int64_t size() const { return static_cast<std::int64_t>(letters_.size()); }
    std::int64_t id(char letter) const { return static_cast<std::int64_t>(letters_.find(letter)); }
    char letter(std::int64_t id) const { return letters_[static_cast<std::size_t>(id)]; }

private:
    std::string letters_;
};

// Goes on with a text, one letter at a time, each drawn by its probability.
std::string write(Writer& model, std::string text, const Alphabet& alphabet, int count, double temperature) {
    const NoGrad no_grad;
    model.eval();
    for (int i = 0; i < count; ++i) {
        const std::string seen = text.substr(text.size() - std::min<std::size_t>(text.size(), kContext));
        std::vector<std::int64_t> ids(kContext, 0);  // one shape, one plan; the mask hides what comes after
        std::transform(seen.begin(), seen.end(), ids.begin(), [&](char letter) { return alphabet.id(letter); });
        const Tensor scores = model(from_data(ids, {1, kContext}))[{0, static_cast<std::int64_t>(seen.size()) - 1}];
        const Tensor below = (cumsum(softmax(scores / temperature, -1), 0) < rand({1})).sum();
        text += alphabet.letter(std::min(below.item<std::int64_t>(), alphabet.size() - 1));
    }
    return text;
}

int run(int steps, bool is_short) {
    manual_seed(0);
    const char* path = WEFT_SOURCE_DIR "/data/text/sonnets.txt";
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.size() <= kContext) throw IoError(std::string(path) + ": cannot be read");
    const Alphabet alphabet(text);
    std::vector<std::int64_t> numbers;
    for (const char letter : text) numbers.push_back(alphabet.id(letter));
    const Tensor ids = from_data(numbers), window = arange(0, kContext + 1);

    Writer model(alphabet.size(), is_short ? Size{.width = 32, .layers = 1} : Size{});
    std::printf("%zu letters, %lld different; %lld parameters\n", text.size(), static_cast<long long>(alphabet.size()),
                static_cast<long long>(model.parameter_count()));
    const std::int64_t batch = is_short ? 16 : 32;
    optim::AdamW adam(model.parameters());
    optim::LRScheduler scheduler(adam, optim::one_cycle_lr(is_short ? 1e-2 : 3e-3, steps));
    double loss_now = 0;
    for (int step = 1; step <= steps; ++step) {
        const Tensor start = randint(0, ids.size(0) - kContext, {batch, 1});
        const Tensor rows = index(ids, {start + window});  // [batch, context + 1]
        const Tensor seen = rows[{Slice{}, Slice{0, kContext}}], next = rows[{Slice{}, Slice{1, kContext + 1}}];
        const Tensor loss = cross_entropy(model(seen).flatten(0, 1), next.flatten());
        adam.zero_grad();
        loss.backward();
        optim::clip_grad_norm(model.parameters(), 1.0);
        adam.step();
        scheduler.step();
        if (step % 100 == 0 || step == 1 || step == steps)
            std::printf("step %d: loss %.3f\n", step, loss_now = loss.item()), std::fflush(stdout);
    }
    std::printf("%s\n", write(model, "When I ", alphabet, is_short ? 40 : 400, 0.7).c_str());
    return loss_now < (is_short ? 2.9 : 1.8) ? EXIT_SUCCESS : EXIT_FAILURE;  // letters by their frequency alone: 3.1
}

}  // namespace

int main(int argc, char** argv) {
    try {
        int steps = 1500;
        bool is_short = false;
        for (int i = 1; i < argc; ++i) {
            const std::string_view word = argv[i];
            if (word == "--short") is_short = true, steps = 80;
            else if (word == "--steps" && i + 1 < argc) steps = std::max(1, std::atoi(argv[++i]));
            else return std::fprintf(stderr, "usage: example_transformer [--steps N] [--short]\n"), EXIT_FAILURE;
        }
        return run(steps, is_short);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "transformer: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
