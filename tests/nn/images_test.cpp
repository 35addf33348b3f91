// Layers without parameters that pad, resize, cut and rearrange images, and bags of rows.
#include "tests/nn/support.h"

#include <weft/nn.h>
#include <weft/ops.h>

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("padding layers put elements around the spatial axes") {
    const Tensor x = arange(4, f32).reshape({1, 1, 2, 2});
    CHECK(nn::ZeroPad2d(1)(x).shape() == Shape{1, 1, 4, 4});
    CHECK(nn::ConstantPad1d({1, 0}, 7)(x).to_vector<float>() == std::vector<float>{7, 0, 1, 7, 2, 3});
    CHECK(nn::ReflectionPad1d({1, 0})(x).to_vector<float>() == std::vector<float>{1, 0, 1, 3, 2, 3});
    CHECK(nn::ReplicationPad2d({0, 1, 0, 0})(x).to_vector<float>() == std::vector<float>{0, 1, 1, 2, 3, 3});
    CHECK(nn::CircularPad1d({0, 1})(x).to_vector<float>() == std::vector<float>{0, 1, 0, 2, 3, 2});
    CHECK_THROWS_WITH_AS(nn::ZeroPad2d({1, 2}), "padding: there must be 4 widths, or one for all sides", ValueError);
}

TEST_CASE("layers that resize, cut and rearrange call their functions") {
    const Tensor x = arange(32, f32).reshape({1, 4, 2, 4});
    nn::Sequential net;
    net.add<nn::PixelShuffle>(2).add<nn::PixelUnshuffle>(2).add<nn::ChannelShuffle>(1);
    CHECK(net(x).to_vector<float>() == x.to_vector<float>());
    CHECK(nn::Upsample({.factors = {2}})(x).shape() == Shape{1, 4, 4, 8});
    CHECK(nn::Fold({2, 4}, {1, 1})(nn::Unfold({1, 1})(x)).to_vector<float>() == x.to_vector<float>());
    CHECK(nn::Unflatten(1, {2, 2})(x).shape() == Shape{1, 2, 2, 2, 4});
}

TEST_CASE("a bag of rows has a table, and its padding row is 0") {
    nn::EmbeddingBag bag(5, 3, BagMode::Sum, 1);
    CHECK(bag.weight.shape() == Shape{5, 3});
    CHECK(bag.weight[1].to_vector<float>() == std::vector<float>{0, 0, 0});
    CHECK(bag.parameters().size() == 1);
    CHECK(bag(tensor({1, 1, 0}), tensor({0, 2})).shape() == Shape{2, 3});
    CHECK(bag(tensor({{1, 1}})).to_vector<float>() == std::vector<float>{0, 0, 0});
    CHECK_THROWS_AS(nn::EmbeddingBag(2, 2, BagMode::Max, 2), ValueError);
}
