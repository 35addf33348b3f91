// inspect/page.cpp: web/page.html, which is part of the library: a program needs no other file to write one.
#include "inspect/page.h"

// The assembler reads the file: a compiler would need seconds for as many numbers.
__asm__(
    ".pushsection .rodata\n"
    ".hidden weft_page\n"
    ".hidden weft_page_end\n"
    ".global weft_page\n"
    ".global weft_page_end\n"
    "weft_page: .incbin \"" WEFT_PAGE
    "\"\n"
    "weft_page_end: .byte 0\n"
    ".popsection\n");
extern "C" const char weft_page[], weft_page_end[];

namespace weft::inspect {

std::string page_with(std::string_view json) {
    constexpr std::string_view kPlace = "/*PROFILE*/";
    const std::string_view page(weft_page, static_cast<std::size_t>(weft_page_end - weft_page));
    const std::size_t at = page.find(kPlace);
    std::string text(page.substr(0, at));
    text += json;
    text += page.substr(at + kPlace.size());
    return text;
}

}  // namespace weft::inspect
