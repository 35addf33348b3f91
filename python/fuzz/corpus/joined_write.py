# A written tensor that stands in a join more than once.
a = data(2) * 1.5
sync(a)
a[1] = 2.0
show(torch.cat([a, a]))
show(a)
