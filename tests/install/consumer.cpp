// What a user's program sees of an installed Weft: the public headers and one library.
#include <weft/dtype.h>

int main() { return weft::size_of(weft::f32) == 4 ? 0 : 1; }
