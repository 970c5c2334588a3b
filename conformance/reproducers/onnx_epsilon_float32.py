"""ONNX 1.23.2: epsilon is an attribute, hence a float32, in a float64 model as well."""

from onnx import helper

node = helper.make_node("LayerNormalization", ["x", "scale"], ["y"], epsilon=1e-5)
print("got ", node.attribute[0].f)  # 9.999999747378752e-06
print("want", 1e-5)
