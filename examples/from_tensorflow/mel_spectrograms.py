"""From samples to log-mel spectrograms and MFCCs, with noise mixed in at a given loudness."""

import numpy as np

import keepset.tf as tf

SAMPLE_RATE = 8000
FRAME_LENGTH, FRAME_STEP, FFT_LENGTH = 256, 128, 256
NUM_MEL_BINS = 20

times = np.arange(SAMPLE_RATE // 2, dtype=np.float32) / SAMPLE_RATE
tones = np.stack([np.sin(2 * np.pi * f * times) for f in (300, 1200, 2500)]).astype(np.float32)
noise = np.random.default_rng(5).normal(size=tones.shape[1]).astype(np.float32)


def add_noise(audio, label, scale=0.5):
    # How loud the noise is, in comparison with the sound.
    prop = tf.math.reduce_max(audio) / tf.math.reduce_max(noise)
    return audio + noise * prop * scale, label


def to_log_mel(audio, label):
    stfts = tf.signal.stft(
        audio,
        frame_length=FRAME_LENGTH,
        frame_step=FRAME_STEP,
        fft_length=FFT_LENGTH,
        window_fn=tf.signal.hann_window,
    )
    spectrograms = tf.abs(stfts)
    # Warp the linear scale spectrograms into the mel-scale.
    num_spectrogram_bins = stfts.shape[-1]
    linear_to_mel_weight_matrix = tf.signal.linear_to_mel_weight_matrix(
        NUM_MEL_BINS, num_spectrogram_bins, SAMPLE_RATE, 80.0, 3800.0
    )
    mel_spectrograms = tf.tensordot(spectrograms, linear_to_mel_weight_matrix, 1)
    mel_spectrograms.set_shape(
        spectrograms.shape[:-1].concatenate(linear_to_mel_weight_matrix.shape[-1:])
    )
    # Compute a stabilized log to get log-magnitude mel-scale spectrograms.
    return tf.math.log(mel_spectrograms + 1e-6), label


dataset = tf.data.Dataset.from_tensor_slices((tones, [0, 1, 2]))
clean = dataset.map(to_log_mel)
print(clean.element_spec[0].shape[-1], clean.element_spec[0].dtype)
for log_mel, label in clean:
    print(int(label), log_mel.shape, tf.argmax(log_mel, axis=-1).numpy()[:4])
    print(np.round(log_mel.numpy().max(), 2), np.round(tf.reduce_mean(tf.exp(log_mel)).numpy(), 2))

for log_mel, _ in dataset.map(add_noise).map(to_log_mel).batch(3):
    mfccs = tf.signal.mfccs_from_log_mel_spectrograms(log_mel)[..., :13]
    print(log_mel.shape, mfccs.shape, mfccs.dtype)
    print(np.round(mfccs.numpy()[0, 0, :3], 2))


def fft_features(audio):
    # The first half of the frequencies is enough for real numbers.
    audio = tf.squeeze(audio)
    fft = tf.signal.fft(tf.cast(tf.complex(real=audio, imag=tf.zeros_like(audio)), tf.complex64))
    fft = tf.expand_dims(fft, axis=-1)
    return tf.math.abs(fft[: (audio.shape[0] // 2), :])


for audio, _ in dataset:
    spectrum = fft_features(audio)
    strongest = int(tf.argmax(spectrum[:, 0]))
    print(spectrum.shape, strongest * SAMPLE_RATE // audio.shape[0], "Hz")

# Loud enough or not, and decibels.
power = tf.signal.rfft(tones[0])
print(power.shape, power.dtype, np.round(float(tf.reduce_max(tf.abs(power))), 1))
back = tf.signal.irfft(power)
print(bool(tf.reduce_all(tf.abs(back - tones[0]) < 1e-4)))
decibels = 10.0 * tf.math.log(tf.reduce_mean(tf.square(tones), axis=1)) / tf.math.log(10.0)
print(np.round(decibels.numpy(), 3))
print(np.round(tf.signal.hamming_window(5).numpy(), 4), tf.signal.hann_window(4).dtype)
frames = tf.signal.frame(tf.range(10), frame_length=4, frame_step=3, pad_end=True)
print(frames.numpy().tolist())
