# The weights' gradient of a strided transposed convolution: four phases, each a sum over an image and in blocks over the batch.
x = data(3, 7, 33, 14).requires_grad_()
w = data(7, 12, 4, 4).requires_grad_()
y = F.conv_transpose2d(x, w, stride=2, padding=2)
(y * y).mean().backward()
show(y)
show(x.grad)
show(w.grad)
