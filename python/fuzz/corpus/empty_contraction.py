# A product over an axis of no elements is zeros.
x = data(17, 0)
sync(x)
y = x.exp() + x.sin()
show(y @ y.t())
