# A product and a scan, joined and divided: the gradient of the factor.
x = data(5, 33)
a = data(33).requires_grad_()
y = torch.cat([a * x, torch.cumsum(x, 1)], 0) / (torch.abs(a) + 1)
(y * data(10, 33)).sum().backward()
show(y)
show(a.grad)
