"""TensorFlow: a pipeline as a ``tf.data.Dataset``, and a ``tf.data.Dataset`` as a pipeline.

Its modules import TensorFlow, so that they are imported only when somebody asks for them.
"""
