# Two updates in place, the first with a transposed operand.
m, g, w = data(65, 65), data(65, 65), data(65, 65)
sync(m, g, w)
m.mul_(0.9).add_(g.t())
w.sub_(m, alpha=0.1)
show(w)
show(m)
