// weft/api.h: what a shared libweft exports: what the public headers declare, and nothing else. The library is compiled with hidden
// symbols, and the mark is on the namespace in each public header, so that no function and no exception can be without it. It is the
// same for a static library and for users.
#pragma once

#define WEFT_API [[gnu::visibility("default")]]
