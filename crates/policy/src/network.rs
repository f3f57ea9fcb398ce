//! A network of dense layers with normalisation and activations, and of recurrent ones (GRU), in single precision and in a
//! fixed order of operations, so that all machines compute the same bits.

use cc::detmath;

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
    /// The outputs, which become the new state; `state` has the last ones.
    fn outputs(&self, inputs: &[f32], state: &mut [f32]) -> Vec<f32> {
        let units = state.len();
        let from_inputs = products(&self.weights, &self.bias, inputs);
        let from_state = products(&self.recurrent, &self.recurrent_bias, state);
        for (unit, value) in state.iter_mut().enumerate() {
            let gate = |part: usize| {
                Activation::Sigmoid.of(from_inputs[part * units + unit] + from_state[part * units + unit])
            };
            let (update, reset) = (gate(0), gate(1));
            let candidate =
                Activation::Tanh.of(from_inputs[2 * units + unit] + reset * from_state[2 * units + unit]);
            *value = (1.0 - update) * candidate + update * *value;
        }
        state.to_vec()
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

    /// The number of weights that a layer of this width has for `inputs` inputs; `u64`, or it could wrap in a browser.
    pub fn expected_weights(&self, inputs: usize) -> u64 {
        let (width, inputs) = (self.width() as u64, inputs as u64);
        match self {
            Layer::Dense(_) => width * inputs,
            Layer::Gru(_) => 3 * width * (inputs + width),
        }
    }

    /// Number of values that it keeps for the next decision.
    fn state_size(&self) -> usize {
        if matches!(self, Layer::Gru(_)) { self.width() } else { 0 }
    }
}

/// Layers, each of which has as many inputs as the one before has outputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NeuralNetwork {
    /// The layers from the input on.
    pub layers: Vec<Layer>,
}

impl NeuralNetwork {
    /// The state of the recurrent layers before the first decision: zeros.
    pub fn initial_state(&self) -> Vec<f32> {
        vec![0.0; self.layers.iter().map(Layer::state_size).sum()]
    }

    /// The outputs of the last layer. `state`: the last outputs of the recurrent layers ([`NeuralNetwork::initial_state`] at
    /// first), which change unless a number is not finite: such a decision leaves no trace.
    pub fn evaluate(&self, inputs: &[f32], state: &mut [f32]) -> Vec<f32> {
        let before = state.to_vec();
        let values = self.outputs(inputs, state);
        if !state.iter().chain(&values).all(|value| value.is_finite()) {
            state.copy_from_slice(&before);
        }
        values
    }

    fn outputs(&self, inputs: &[f32], state: &mut [f32]) -> Vec<f32> {
        let (mut values, mut rest) = (inputs.to_vec(), state);
        for layer in &self.layers {
            let (part, after) = rest.split_at_mut(layer.state_size());
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
            let network =
                NeuralNetwork { layers: vec![Layer::Dense(first.clone()), Layer::Dense(second.clone())] };
            network.evaluate(&[1.0, 2.0], &mut network.initial_state())
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
        let mut network = NeuralNetwork { layers: vec![Layer::Gru(gru)] };
        let mut state = network.initial_state();
        let close = |outputs: Vec<f32>, expected: f64| (f64::from(outputs[0]) - expected).abs() < 1e-6;
        let first = 0.5 * 0.7_f64.tanh();
        assert!(close(network.evaluate(&[0.7], &mut state), first));
        assert!(close(network.evaluate(&[0.2], &mut state), 0.5 * (0.2_f64.tanh() + first)));
        let Layer::Gru(gru) = &mut network.layers[0] else { unreachable!() };
        (gru.bias[1], state[0]) = (200.0, 0.1); // the reset gate is open
        assert!(close(network.evaluate(&[0.2], &mut state), 0.5 * (9.7_f64.tanh() + 0.1)));
        assert_eq!((network.layers[0].width(), network.layers[0].expected_weights(1)), (1, 6));
        // An input that is not finite gives no output and leaves the state.
        let before = state.clone();
        assert!(!network.evaluate(&[f32::NAN], &mut state)[0].is_finite());
        assert_eq!(state, before);
    }
}
