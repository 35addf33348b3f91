# A detached tensor that takes up a history again.
w = data(5).requires_grad_()
h = (w * 1.0).detach()
h += w * 2
((h * h).sum() + (w * 0.5).sum()).backward()
show(h)
show(w.grad)
