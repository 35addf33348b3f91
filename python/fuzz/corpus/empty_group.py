# A group of parameters without parameters, between two with some.
w, v = data(3, 4).requires_grad_(), data(4).requires_grad_()
optimizer = torch.optim.Adam([{"params": [w]}, {"params": []}, {"params": [v], "lr": 0.003}], lr=0.01)
for i in range(2):
    loss = ((data(5, 3) @ w + v) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
show(w)
show(v)
