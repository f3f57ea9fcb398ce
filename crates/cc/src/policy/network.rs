//! A network of dense layers with normalisation and activations, and of recurrent ones (GRU), in single precision and in a
//! fixed order of operations, so that all machines compute the same bits.

use crate::detmath;

/// The function after a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// None.
    Linear,
    /// `max(0, x)`.
    Relu,
    /// Hyperbolic tangent.
    Tanh,
    /// `1/(1 + exp(-x))`.
    Sigmoid,
    /// `x` if positive, otherwise `exp(x) - 1`.
    Elu,
}

impl Activation {
    /// All activations with their names in files.
    pub const NAMED: [(&'static str, Activation); 5] = [
        ("linear", Activation::Linear),
        ("relu", Activation::Relu),
        ("tanh", Activation::Tanh),
        ("sigmoid", Activation::Sigmoid),
        ("elu", Activation::Elu),
    ];

    fn of(self, x: f32) -> f32 {
        let wide = f64::from(x);
        match self {
            Activation::Linear => x,
            Activation::Relu => x.max(0.0),
            Activation::Tanh => {
                // One branch for each sign: the exponent is never positive.
                let e = detmath::exp(-2.0 * wide.abs());
                ((1.0 - e) / (1.0 + e)).copysign(wide) as f32
            }
            Activation::Sigmoid => (1.0 / (1.0 + detmath::exp(-wide))) as f32,
            Activation::Elu if x > 0.0 => x,
            Activation::Elu => (detmath::exp(wide) - 1.0) as f32,
        }
    }
}

/// Layer normalisation: `(x - mean) / sqrt(variance + epsilon) * scale + shift` over the outputs of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalisation {
    /// One for each output.
    pub scale: Vec<f32>,
    /// One for each output.
    pub shift: Vec<f32>,
    /// Above 0.
    pub epsilon: f32,
}

impl Normalisation {
    fn apply(&self, values: &mut [f32]) {
        let count = values.len().max(1) as f32;
        let mean = values.iter().fold(0.0, |sum: f32, x| sum + x) / count;
        let squares = values.iter().fold(0.0, |sum: f32, x| sum + (x - mean) * (x - mean));
        let deviation = (squares / count + self.epsilon).sqrt();
        for (x, (scale, shift)) in values.iter_mut().zip(self.scale.iter().zip(&self.shift)) {
            *x = (*x - mean) / deviation * scale + shift;
        }
    }
}

/// `bias[o]` and the products of the inputs with row `o` of a matrix, for each output `o`.
fn products(weights: &[f32], bias: &[f32], inputs: &[f32]) -> Vec<f32> {
    let rows = weights.chunks_exact(inputs.len().max(1));
    let sum = |row: &[f32], bias: f32| {
        row.iter().zip(inputs).fold(bias, |sum, (weight, input)| sum + weight * input)
    };
    rows.zip(bias).map(|(row, bias)| sum(row, *bias)).collect()
}

/// A dense layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// `weights[o * inputs + i]` is that of input `i` for output `o`.
    pub weights: Vec<f32>,
    /// One for each output.
    pub bias: Vec<f32>,
    /// Normalisation of the outputs, before their function.
    pub normalisation: Option<Normalisation>,
    /// The function of each output.
    pub activation: Activation,
}

impl Dense {
    fn outputs(&self, inputs: &[f32]) -> Vec<f32> {
        let mut values = products(&self.weights, &self.bias, inputs);
        if let Some(normalisation) = &self.normalisation {
            normalisation.apply(&mut values);
        }
        values.iter_mut().for_each(|x| *x = self.activation.of(*x));
        values
    }
}

/// A gated recurrent unit (Cho et al. 2014; the reset gate after the product, as in ONNX with `linear_before_reset` and in
/// torch). Matrices and biases have three parts, of as many rows as there are units: update gate, reset gate, candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Gru {
    /// The weights of the inputs, row by row.
    pub weights: Vec<f32>,
    /// One for each row.
    pub bias: Vec<f32>,
    /// The weights of the last outputs, row by row.
    pub recurrent: Vec<f32>,
    /// One for each row.
    pub recurrent_bias: Vec<f32>,
}

impl Gru {
    /// The outputs after `memory`, the last outputs, which they replace.
    fn outputs(&self, inputs: &[f32], memory: &mut [f32]) -> Vec<f32> {
        let units = memory.len();
        let fresh = products(&self.weights, &self.bias, inputs);
        let kept = products(&self.recurrent, &self.recurrent_bias, memory);
        for (unit, value) in memory.iter_mut().enumerate() {
            let gate =
                |part: usize| Activation::Sigmoid.of(fresh[part * units + unit] + kept[part * units + unit]);
            let (update, reset) = (gate(0), gate(1));
            let candidate = Activation::Tanh.of(fresh[2 * units + unit] + reset * kept[2 * units + unit]);
            *value = (1.0 - update) * candidate + update * *value;
        }
        memory.to_vec()
    }
}

/// A layer of a network.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// A dense one.
    Dense(Dense),
    /// A recurrent one.
    Gru(Gru),
}

impl Layer {
    /// Number of outputs.
    pub fn width(&self) -> usize {
        match self {
            Layer::Dense(dense) => dense.bias.len(),
            Layer::Gru(gru) => gru.bias.len() / 3,
        }
    }

    /// Number of weights, without biases.
    pub fn weights(&self) -> usize {
        match self {
            Layer::Dense(dense) => dense.weights.len(),
            Layer::Gru(gru) => gru.weights.len() + gru.recurrent.len(),
        }
    }

    /// The number of weights that a layer like this has for `inputs` inputs.
    pub fn needed(&self, inputs: usize) -> usize {
        match self {
            Layer::Dense(_) => self.width() * inputs,
            Layer::Gru(_) => 3 * self.width() * (inputs + self.width()),
        }
    }

    /// Number of outputs that the next decision depends on.
    fn units(&self) -> usize {
        if matches!(self, Layer::Gru(_)) { self.width() } else { 0 }
    }
}

/// Layers, each of which has as many inputs as the one before has outputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// The layers from the input on.
    pub layers: Vec<Layer>,
}

impl Network {
    /// The outputs of the recurrent layers before the first decision: zeros.
    pub fn memory(&self) -> Vec<f32> {
        vec![0.0; self.layers.iter().map(Layer::units).sum()]
    }

    /// The outputs of the last layer. `memory`: the last outputs of the recurrent layers ([`Network::memory`] at first).
    pub fn evaluate(&self, inputs: &[f32], memory: &mut [f32]) -> Vec<f32> {
        let (mut values, mut rest) = (inputs.to_vec(), memory);
        for layer in &self.layers {
            let (part, after) = rest.split_at_mut(layer.units());
            values = match layer {
                Layer::Dense(dense) => dense.outputs(&values),
                Layer::Gru(gru) => gru.outputs(&values, part),
            };
            rest = after;
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activations_are_their_functions() {
        for x in [-30.0_f32, -2.0, -1e-4, 0.0, 1e-4, 0.5, 3.0, 40.0] {
            let close = |a: f32, b: f32| (a - b).abs() <= 2e-7 * (1.0 + b.abs());
            assert!(close(Activation::Tanh.of(x), x.tanh()), "tanh {x}");
            assert!(close(Activation::Sigmoid.of(x), 1.0 / (1.0 + (-x).exp())), "sigmoid {x}");
            assert!(close(Activation::Elu.of(x), if x > 0.0 { x } else { x.exp_m1() }), "elu {x}");
            assert_eq!((Activation::Relu.of(x), Activation::Linear.of(x)), (x.max(0.0), x));
        }
    }

    #[test]
    fn layers_follow_each_other() {
        let layer = |weights: &[f32], bias: &[f32], activation| Dense {
            weights: weights.into(),
            bias: bias.into(),
            normalisation: None,
            activation,
        };
        let mut first = layer(&[1.0, 2.0, -1.0, 0.5], &[0.0, 1.0], Activation::Relu);
        let second = layer(&[3.0, -2.0], &[0.25], Activation::Linear);
        let evaluate = |first: &Dense| {
            let network = Network { layers: vec![Layer::Dense(first.clone()), Layer::Dense(second.clone())] };
            network.evaluate(&[1.0, 2.0], &mut network.memory())
        };
        // relu(1 + 4) = 5, relu(-1 + 1 + 1) = 1: 15 - 2 + 0.25.
        assert_eq!(evaluate(&first), [13.25]);
        // 5 and 1: mean 3, variance 4; (1, -1) scaled and shifted: 2.5 and -0.5, of which relu makes 0.
        let normalisation = Normalisation { scale: vec![2.0, 1.0], shift: vec![0.5; 2], epsilon: 0.0 };
        first.normalisation = Some(normalisation);
        assert_eq!(evaluate(&first), [7.75]);
    }

    #[test]
    fn a_recurrent_layer_keeps_its_outputs() {
        // One unit. The update gate is open by half, the reset gate closed by its bias at first.
        let gru = Gru {
            weights: vec![0.0, 0.0, 1.0],
            bias: vec![0.0, -200.0, 0.0],
            recurrent: vec![0.0, 0.0, 5.0],
            recurrent_bias: vec![0.0, 0.0, 9.0],
        };
        let mut network = Network { layers: vec![Layer::Gru(gru)] };
        let mut memory = network.memory();
        let close = |outputs: Vec<f32>, expected: f64| (f64::from(outputs[0]) - expected).abs() < 1e-6;
        let first = 0.5 * 0.7_f64.tanh();
        assert!(close(network.evaluate(&[0.7], &mut memory), first));
        assert!(close(network.evaluate(&[0.2], &mut memory), 0.5 * (0.2_f64.tanh() + first)));
        let Layer::Gru(gru) = &mut network.layers[0] else { unreachable!() };
        (gru.bias[1], memory[0]) = (200.0, 0.1); // the reset gate is open
        assert!(close(network.evaluate(&[0.2], &mut memory), 0.5 * (9.7_f64.tanh() + 0.1)));
        assert_eq!((network.layers[0].width(), network.layers[0].needed(1)), (1, 6));
    }
}
