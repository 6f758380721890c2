"""Spoken words in WAV files: decoded, padded to a second, and turned into spectrograms."""

import os
import pathlib
import tempfile
import wave

import numpy as np

import keepset.tf as tf

RATE = 4000
data_dir = pathlib.Path(tempfile.mkdtemp()) / "mini_speech_commands"
for command, tone in (("go", 440), ("no", 880), ("yes", 220)):
    (data_dir / command).mkdir(parents=True)
    for number, seconds in enumerate((0.8, 1.0)):
        times = np.arange(int(RATE * seconds)) / RATE
        samples = (np.sin(2 * np.pi * tone * times) * 16000 * (1 + number)).astype("<i2")
        with wave.open(str(data_dir / command / f"{number}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(samples.tobytes())

commands = np.array(tf.io.gfile.listdir(str(data_dir)))
commands = np.sort(commands[commands != "README.md"])
print("Commands:", commands)
filenames = sorted(tf.io.gfile.glob(str(data_dir) + "/*/*"))
print("Number of total examples:", len(filenames))

test_file = tf.io.read_file(filenames[1])
test_audio, sample_rate = tf.audio.decode_wav(contents=test_file)
print(test_audio.shape, test_audio.dtype, int(sample_rate), sample_rate.dtype)
print(np.round(test_audio.numpy()[:4, 0], 5))


def decode_audio(audio_binary):
    # Decode WAV-encoded audio files to `float32` tensors, normalized to the [-1.0, 1.0] range.
    audio, _ = tf.audio.decode_wav(contents=audio_binary)
    # Since all the data is single channel (mono), drop the `channels` axis from the array.
    return tf.squeeze(audio, axis=-1)


def get_label(file_path):
    parts = tf.strings.split(input=file_path, sep=os.path.sep)
    return parts[-2]


def get_waveform_and_label(file_path):
    label = get_label(file_path)
    audio_binary = tf.io.read_file(file_path)
    return decode_audio(audio_binary), label


def get_spectrogram(waveform, input_len=RATE):
    # Zero-padding for an audio waveform with less than a second of samples.
    waveform = waveform[:input_len]
    zero_padding = tf.zeros([input_len] - tf.shape(waveform), dtype=tf.float32)
    waveform = tf.cast(waveform, dtype=tf.float32)
    equal_length = tf.concat([waveform, zero_padding], 0)
    spectrogram = tf.signal.stft(equal_length, frame_length=255, frame_step=128)
    spectrogram = tf.abs(spectrogram)
    return spectrogram[..., tf.newaxis]


def get_spectrogram_and_label_id(audio, label):
    label_id = tf.argmax(label == commands)
    return get_spectrogram(audio), label_id


AUTOTUNE = tf.data.AUTOTUNE
files_ds = tf.data.Dataset.from_tensor_slices(filenames)
waveform_ds = files_ds.map(map_func=get_waveform_and_label, num_parallel_calls=AUTOTUNE)
for waveform, label in waveform_ds:
    print(label.numpy().decode("utf-8"), waveform.shape, np.round(np.abs(waveform).max(), 3))

spectrogram_ds = waveform_ds.map(get_spectrogram_and_label_id, num_parallel_calls=AUTOTUNE)
for spectrogram, label_id in spectrogram_ds:
    peaks = tf.argmax(spectrogram[:, :, 0], axis=1)
    print(
        int(label_id), spectrogram.shape, peaks.numpy()[:5], np.round(spectrogram.numpy().max(), 2)
    )

# In batches, with the samples padded or cut.
exact = files_ds.map(
    lambda path: (
        tf.audio.decode_wav(
            tf.io.read_file(path), desired_channels=1, desired_samples=RATE // 2
        ).audio
    )
)
for batch in exact.batch(4):
    print(batch.shape, np.round(tf.math.reduce_std(batch, axis=(1, 2)).numpy(), 4))
for audio, _ in waveform_ds.padded_batch(6, padded_shapes=([RATE], [])):
    print(audio.shape, np.round(tf.reduce_mean(tf.square(audio), axis=1).numpy(), 4))
    print(tf.signal.frame(audio, 1000, 500).shape)
