//! Vectors in space, km. Inertial frame: z to the north pole, x to longitude 0 at time 0.

use std::ops::{Add, Mul, Sub};

/// A point or a difference of points, km.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vector {
    /// Towards longitude 0 at time 0.
    pub x: f64,
    /// Towards longitude 90 degrees east at time 0.
    pub y: f64,
    /// Towards the north pole.
    pub z: f64,
}

impl Vector {
    /// The vector of these components.
    pub const fn new(x: f64, y: f64, z: f64) -> Vector {
        Vector { x, y, z }
    }
    /// The scalar product.
    pub fn dot(self, other: Vector) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }
    /// The length.
    pub fn norm(self) -> f64 {
        self.dot(self).sqrt()
    }
    /// The distance to another point.
    pub fn distance(self, other: Vector) -> f64 {
        (self - other).norm()
    }
    /// The vector rotated about the z axis by `angle` radians, eastwards.
    pub fn turned(self, angle: f64) -> Vector {
        let (sin, cos) = libm::sincos(angle);
        Vector::new(cos * self.x - sin * self.y, sin * self.x + cos * self.y, self.z)
    }
}

impl Add for Vector {
    type Output = Vector;
    fn add(self, other: Vector) -> Vector {
        Vector::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }
}

impl Sub for Vector {
    type Output = Vector;
    fn sub(self, other: Vector) -> Vector {
        Vector::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }
}

impl Mul<f64> for Vector {
    type Output = Vector;
    fn mul(self, factor: f64) -> Vector {
        Vector::new(self.x * factor, self.y * factor, self.z * factor)
    }
}
