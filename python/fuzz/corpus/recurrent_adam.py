# A recurrent loop over one weight, trained: the weight's gradient reads what Adam's update writes.
H, B, I, T = 32, 3, 3, 3
u = data(H, I, scale=0.577).requires_grad_()
w = data(H, H, scale=0.177).requires_grad_()
b = data(H, scale=0.1).requires_grad_()
v = data(3, H, scale=0.177).requires_grad_()
params = [u, w, b, v]
x, y = data(B, T, I), ints(3, B)
optimizer = torch.optim.Adam(params, lr=0.01, eps=1e-3)
for step in range(2):
    optimizer.zero_grad()
    h = torch.zeros(B, H, dtype=x.dtype)
    for t in range(T):
        h = torch.tanh(F.linear(x[:, t], u, b) + h @ w.t())
    loss = F.cross_entropy(h @ v.T, y)
    loss.backward()
    optimizer.step()
    show(loss)
for p in params:
    show(p)
    show(p.grad)
