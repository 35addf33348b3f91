# Several reductions of one row, forward and backward, in one kernel.
for n in (16, 17, 31):
    x = data(n, n).requires_grad_()
    t = torch.rsqrt(torch.abs((x @ x.t()) * 0.1) + 0.5)
    p = torch.prod(torch.clamp(t, 0.8, 1.2), 1)
    c = F.cross_entropy(t, torch.arange(n))
    (p.sum() + c).backward()
    show(p)
    show(x.grad)
