use super::{LANES, Matrix, add, dot, sum};

fn matrix(rows: usize, columns: usize) -> Matrix {
    let values = (0..rows * columns).map(|place| (place % 13) as f32 - 6.0).collect();
    Matrix::from_values(rows, columns, values).expect("matrix")
}

#[test]
fn products_are_those_of_the_definition() {
    for (rows, middle, columns) in
        [(1, 1, 1), (2, 3, 4), (1, 40, 17), (2, 7, 5), (3, 7, 5), (33, 16, 9), (7, 5, 1), (0, 3, 2)]
    {
        let (left, right) = (matrix(rows, middle), matrix(middle, columns));
        let product = left.times(&right);
        assert_eq!((product.rows(), product.columns()), (rows, columns));
        for row in 0..rows {
            for column in 0..columns {
                let expected: f32 = (0..middle).map(|k| left.row(row)[k] * right.row(k)[column]).sum();
                assert!((product.row(row)[column] - expected).abs() < 1e-3, "{rows} {middle} {columns}");
            }
        }
    }
}

#[test]
fn products_are_added() {
    let mut matrix = Matrix::from_values(1, 2, vec![10.0, 20.0]).expect("matrix");
    let left = Matrix::from_values(1, 1, vec![2.0]).expect("matrix");
    let right = Matrix::from_values(1, 2, vec![3.0, 4.0]).expect("matrix");
    matrix.add_product(&left, &right);
    assert_eq!(matrix.row(0), [16.0, 28.0]);
}

#[test]
fn columns_are_put_together_and_taken_apart() {
    let (left, right) = (matrix(3, 2), matrix(3, 5));
    let both = Matrix::beside(&[left.clone(), right.clone()]);
    assert_eq!((both.rows(), both.columns()), (3, 7));
    assert_eq!((both.columns_of(0..2), both.columns_of(2..7)), (left, right));
}

#[test]
fn values_have_to_fill_the_shape() {
    assert!(Matrix::from_values(2, 2, vec![0.0; 3]).is_none());
    assert!(Matrix::from_values(usize::MAX, 2, vec![0.0; 3]).is_none());
}

#[test]
fn rows_are_normalised_one_by_one() {
    let mut matrix = Matrix::from_values(2, 2, vec![1.0, 3.0, -50.0, 50.0]).expect("matrix");
    matrix.normalise_rows(&[1.0, 2.0], &[0.0, 0.5], 0.0);
    assert_eq!((matrix.row(0), matrix.row(1)), (&[-1.0, 2.5][..], &[-1.0, 2.5][..]));
    // Without epsilon a row of equal values would be divided by nothing.
    let mut flat = Matrix::from_values(1, 2, vec![7.0, 7.0]).expect("matrix");
    flat.normalise_rows(&[1.0, 1.0], &[0.0, 0.0], 1e-12);
    assert_eq!(flat.row(0), [0.0, 0.0]);
}

#[test]
fn small_steps() {
    let mut matrix = Matrix::from_values(1, 3, vec![-1.0, 0.0, 2.0]).expect("matrix");
    matrix.add_to_rows(&[0.5, -1.0, 1.0]);
    assert_eq!(matrix.row(0), [-0.5, -1.0, 3.0]);
    matrix.rectify();
    assert_eq!(matrix.row(0), [0.0, 0.0, 3.0]);
    matrix.map(|value| value * 2.0);
    add(matrix.row_mut(0), &[1.0, 1.0, 1.0]);
    assert_eq!(matrix.row(0), [1.0, 1.0, 7.0]);
}

#[test]
fn sums_take_the_rest_along() {
    for count in [0, 1, LANES, LANES + 1, 3 * LANES + 5] {
        let values: Vec<f32> = (1_u16..).take(count).map(f32::from).collect();
        assert_eq!(sum(&values), (count * (count + 1) / 2) as f32);
        assert_eq!(dot(&values, &values), values.iter().map(|value| value * value).sum::<f32>());
    }
}
