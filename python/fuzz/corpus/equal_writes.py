# The same number written into two tensors in one run.
a, b = data(3), data(2)
sync(a, b)
a[0] = 1.0
b[1] = 1.0
show(a)
show(b)
