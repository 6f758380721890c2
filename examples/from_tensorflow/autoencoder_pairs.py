"""Pictures that are their own targets: clean, noisy, with holes, and compared by SSIM and PSNR."""

import numpy as np

import keepset.tf as tf

rng = np.random.default_rng(3)
digits = np.zeros((10, 16, 16), np.uint8)
for i, digit in enumerate(digits):
    digit[2 + i % 5 : 12, 3 : 5 + i] = 255
digits[:, 0, 0] = 10


def preprocess(array):
    """Normalizes the supplied array and reshapes it."""
    array = array.astype("float32") / 255.0
    return np.reshape(array, (len(array), 16, 16, 1))


train_data = preprocess(digits)
dataset = tf.data.Dataset.from_tensor_slices(train_data)
pairs = dataset.map(lambda x: (x, x)).batch(5)
for x, y in pairs:
    print(x.shape, bool(tf.reduce_all(x == y)), round(float(tf.reduce_sum(x)), 2))

# Noise from a seed for each picture.
noise_factor = 0.2


def add_noise(number, x):
    noise = tf.random.stateless_normal(shape=x.shape, seed=[number, 0])
    noisy = x + noise_factor * noise
    return tf.clip_by_value(noisy, clip_value_min=0.0, clip_value_max=1.0), x


denoising = dataset.enumerate().map(add_noise)
for noisy, clean in denoising.take(3):
    error = tf.reduce_mean(tf.math.squared_difference(noisy, clean))
    print(noisy.shape, noisy.dtype, np.round(error.numpy(), 3))
again = [noisy.numpy() for noisy, _ in denoising]
print(all(np.array_equal(a, b.numpy()) for a, (b, _) in zip(again, denoising, strict=True)))


# Holes to fill, at places that the number of the picture decides.
def cut_out(number, x, size=6):
    number = tf.cast(number, tf.int32)
    top, left = (number * 3) % 10, (number * 7) % 10
    hole = tf.zeros([size, size, 1])
    paddings = [[top, 16 - size - top], [left, 16 - size - left], [0, 0]]
    mask = tf.pad(hole, paddings, constant_values=1.0)
    return x * mask, x, mask


for holed, whole, mask in dataset.enumerate().map(cut_out).take(3):
    print(holed.shape, mask.numpy().sum(), round(float(tf.reduce_sum(whole - holed)), 3))


# Patches of a picture, some of them hidden, as masked autoencoders want.
def to_patches(x, size=4):
    patches = tf.image.extract_patches(
        images=x[tf.newaxis],
        sizes=[1, size, size, 1],
        strides=[1, size, size, 1],
        rates=[1, 1, 1, 1],
        padding="VALID",
    )
    return tf.reshape(patches, (-1, size * size))


for patches in dataset.map(to_patches).take(2):
    print(patches.shape, tf.reduce_sum(patches, axis=1).numpy().round(2)[:6])
order = tf.argsort(tf.random.stateless_uniform([16], seed=(9, 9)))
keep, hide = order[:4], order[4:]
print(keep.numpy(), sorted(np.concatenate([keep, hide]).tolist()) == list(range(16)))
patches = next(iter(dataset.skip(4).map(to_patches)))
hidden = tf.tensor_scatter_nd_update(patches, hide[:, None], tf.zeros([12, 16]))
print(hidden.shape, np.round(tf.reduce_sum(hidden).numpy(), 3))
back = tf.reshape(tf.transpose(tf.reshape(patches, (4, 4, 4, 4)), [0, 2, 1, 3]), (16, 16))
print(np.array_equal(back.numpy(), train_data[4, :, :, 0]))

# Small ones as inputs, large ones as targets, and how alike two pictures are.
for low, high in dataset.map(lambda x: (tf.image.resize(x, (4, 4), method="area"), x)).take(2):
    enlarged = tf.image.resize(low, (16, 16), method="bicubic")
    print(low.shape, np.round(tf.image.psnr(enlarged, high, max_val=1.0).numpy(), 2))
one, other = tf.constant(train_data[0]), tf.constant(train_data[1])
print(np.round(tf.image.total_variation(one).numpy(), 3), np.round(tf.norm(one - other).numpy(), 3))
print(np.round(tf.image.ssim(one, other, max_val=1.0).numpy(), 3))
gradients = tf.image.image_gradients(one[None])
print([g.shape.as_list() for g in gradients])
flat = dataset.map(lambda x: tf.reshape(x, [-1])).map(lambda x: tf.math.sigmoid(x - 0.5))
print(flat.element_spec, np.round(next(iter(flat)).numpy()[:2], 4))
