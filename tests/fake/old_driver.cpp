// tests/fake/old_driver.cpp: a libcuda.so.1 from before there were graphs.
extern "C" __attribute__((visibility("default"))) int cuInit(unsigned) { return 0; }
extern "C" __attribute__((visibility("default"))) int cuDriverGetVersion(int* version) {
    *version = 9020;
    return 0;
}
