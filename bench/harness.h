// bench/harness.h: rows of "Weft against a reference", measured in one run: the two sides alternate, and the best of many counts.
#pragma once

#include <weft/debug.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

inline double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Row {
    std::string name;
    double weft_ms = 0, reference_ms = 0;
    double ratio = 0;  // the higher the better: reference / weft, or rate against rate
    double want = 0;   // 0: for information
};

class Harness {
public:
    Harness(int argc, char** argv) {
        for (int i = 1; i < argc; ++i) {
            const bool has_value = i + 1 < argc;
            if (!std::strcmp(argv[i], "--json") && has_value) json_ = argv[++i];
            else if (!std::strcmp(argv[i], "--only") && has_value) only_ = argv[++i];
            else throw std::invalid_argument(std::string("usage: ") + argv[0] + " [--json FILE] [--only NAME]");
        }
        std::printf("%-44s %10s %10s %7s %6s\n", "row", "weft ms", "ref. ms", "ratio", "want");
    }

    bool wanted(const std::string& name) const { return only_.empty() || name.find(only_) != std::string::npos; }

    // Times both sides in turn and adds a row with ratio = reference / weft. Returns it.
    Row compare(const std::string& name, double want, const std::function<void()>& weft_side,
                const std::function<void()>& reference, int rounds = 15) {
        Row row{name, 1e30, 1e30, 0, want};
        weft_side(), reference();  // compile, touch the memory
        for (int i = 0; i < rounds; ++i) {
            row.reference_ms = std::min(row.reference_ms, 1e3 * seconds_of(reference));
            const weft::CounterScope count;
            row.weft_ms = std::min(row.weft_ms, 1e3 * seconds_of(weft_side));
            if (count.kernels_launched() == 0) throw std::logic_error(name + ": a timed round launched no kernel");
        }
        row.ratio = row.reference_ms / row.weft_ms;
        return row;
    }

    void add(const Row& row) {
        std::printf("%-44s %10.3f %10.3f %7.2f ", row.name.c_str(), row.weft_ms, row.reference_ms, row.ratio);
        if (row.want > 0) std::printf("%6.2f  %s\n", row.want, row.ratio >= row.want ? "ok" : "MISSED");
        else std::printf("%6s\n", "-");
        std::fflush(stdout);
        rows_.push_back(row);
    }

    int finish() const {
        if (!json_.empty()) write_json();
        const auto missed =
            std::count_if(rows_.begin(), rows_.end(), [](const Row& r) { return r.want > 0 && r.ratio < r.want; });
        return missed ? EXIT_FAILURE : EXIT_SUCCESS;
    }

private:
    void write_json() const {
        std::FILE* file = std::fopen(json_.c_str(), "w");
        if (!file) throw std::runtime_error("cannot write " + json_);
        std::fprintf(file, "[\n");
        for (std::size_t i = 0; i < rows_.size(); ++i)
            std::fprintf(
                file,
                "  {\"row\": \"%s\", \"weft_ms\": %.6f, \"reference_ms\": %.6f, \"ratio\": %.4f, \"want\": %.2f}%s\n",
                rows_[i].name.c_str(), rows_[i].weft_ms, rows_[i].reference_ms, rows_[i].ratio, rows_[i].want,
                i + 1 < rows_.size() ? "," : "");
        std::fprintf(file, "]\n");
        std::fclose(file);
    }

    std::string json_, only_;
    std::vector<Row> rows_;
};

}  // namespace bench
