// Known answers of FIPS 180-4 and its usual companions, and every way of cutting a message into pieces.
#include "data/sha256.h"

#include "scratch.h"

using namespace weft::data;
using scratch::bytes_of;

TEST_CASE("sha256 of known messages") {
    CHECK(sha256_hex({}) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(sha256_hex(bytes_of("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(sha256_hex(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(sha256_hex(
              bytes_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnop"
                       "qrsmnopqrstnopqrstu")) == "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    CHECK(sha256_hex(bytes_of(std::string(1'000'000, 'a'))) ==
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256 in pieces is sha256 of the whole, for all lengths around the block size") {
    std::string message;
    for (int length = 0; length <= 200; ++length, message += static_cast<char>(length)) {
        const std::string whole = sha256_hex(bytes_of(message));
        for (const std::size_t step : {1, 7, 63, 64, 65}) {
            Sha256 hash;
            for (std::size_t at = 0; at < message.size(); at += step) hash.add(bytes_of(message.substr(at, step)));
            CHECK(to_hex(hash.finish()) == whole);
        }
    }
}
