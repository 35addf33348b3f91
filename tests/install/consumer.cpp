// What a user's program sees of an installed Weft: the public headers and one library.
#include <weft/weft.h>

#include <cstdio>

int main() {
    using namespace weft;
    const BackendScope interpreter("ref");  // so that this runs where there is no C compiler
    const Tensor x = tensor({1, 2, 3, 4}, f32);
    const double sum = (x * x).sum().item();
    std::printf("1 + 4 + 9 + 16 = %g\n", sum);
    return sum == 30 ? 0 : 1;
}
