//! A feed-forward network: dense layers with normalisation and activations, in single precision and in a fixed order of
//! operations, so that all machines compute the same bits.

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

/// A dense layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// `weights[o * inputs + i]` is that of input `i` for output `o`.
    pub weights: Vec<f32>,
    /// One for each output.
    pub bias: Vec<f32>,
    /// Normalisation of the outputs, before their function.
    pub normalisation: Option<Normalisation>,
    /// The function of each output.
    pub activation: Activation,
}

impl Layer {
    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.weights.len() / self.bias.len().max(1)
    }

    fn outputs(&self, inputs: &[f32]) -> Vec<f32> {
        let rows = self.weights.chunks_exact(inputs.len().max(1));
        let sum = |row: &[f32], bias: f32| {
            row.iter().zip(inputs).fold(bias, |sum, (weight, input)| sum + weight * input)
        };
        let mut values: Vec<f32> = rows.zip(&self.bias).map(|(row, bias)| sum(row, *bias)).collect();
        if let Some(normalisation) = &self.normalisation {
            normalisation.apply(&mut values);
        }
        values.iter_mut().for_each(|x| *x = self.activation.of(*x));
        values
    }
}

/// Layers, each of which has as many inputs as the one before has outputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// The layers from the input on.
    pub layers: Vec<Layer>,
}

impl Network {
    /// The outputs of the last layer.
    pub fn evaluate(&self, inputs: &[f32]) -> Vec<f32> {
        self.layers.iter().fold(inputs.to_vec(), |values, layer| layer.outputs(&values))
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
        let layer = |weights: &[f32], bias: &[f32], activation| Layer {
            weights: weights.into(),
            bias: bias.into(),
            normalisation: None,
            activation,
        };
        let first = layer(&[1.0, 2.0, -1.0, 0.5], &[0.0, 1.0], Activation::Relu);
        let second = layer(&[3.0, -2.0], &[0.25], Activation::Linear);
        let mut network = Network { layers: vec![first, second] };
        // relu(1 + 4) = 5, relu(-1 + 1 + 1) = 1: 15 - 2 + 0.25.
        assert_eq!(network.evaluate(&[1.0, 2.0]), [13.25]);
        // 5 and 1: mean 3, variance 4; (1, -1) scaled and shifted: 2.5 and -0.5, of which relu makes 0.
        let normalisation = Normalisation { scale: vec![2.0, 1.0], shift: vec![0.5; 2], epsilon: 0.0 };
        network.layers[0].normalisation = Some(normalisation);
        assert_eq!(network.evaluate(&[1.0, 2.0]), [7.75]);
    }
}
