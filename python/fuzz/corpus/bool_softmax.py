# Columns of bools, one more than fills the vectors.
x = data(16, 17) > 0
sync(x)
show(torch.softmax(x.to(data(1).dtype), 0))
